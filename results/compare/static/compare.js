// One figure by cell: the difference with its interval, as a chart and as a table.
(async function main() {
  const { whole, cells } = await page.json("comparison"), chart = document.getElementById("cells-chart"), place = document.getElementById("cells"), select = document.getElementById("figure");
  const colours = { worse: "fail", better: "pass", same: "soft", "cannot tell": "unknown" }, rank = { worse: 0, "cannot tell": 1, better: 2, same: 3 };
  function show() {
    const rows = Object.entries(cells).map(([cell, figures]) => ({ cell, ...figures.find((figure) => figure.name === select.value) })).filter((row) => row.pairs).sort((a, b) => rank[a.judgement] - rank[b.judgement] || Math.abs(b.middle) - Math.abs(a.middle) || compare(a.cell, b.cell));
    const total = whole.find((figure) => figure.name === select.value);
    chart.style.height = `${Math.max(8, 5 + rows.length * 1.7)}rem`;
    page.chart(chart, `${total.words}, difference by cell; the table below has the same figures`, () => ({
      grid: { left: 8, right: 24, top: 10, bottom: 34, containLabel: true },
      xAxis: { type: "value", name: `difference, ${total.unit}`, nameLocation: "middle", nameGap: 22, scale: true }, yAxis: { type: "category", inverse: true, data: rows.map((row) => row.cell), axisLabel: { width: innerWidth < 700 ? 130 : 420, overflow: "break", interval: 0 } },
      tooltip: { formatter: ({ data }) => `${data.row.cell}<br>${data.row.judgement}: ${data.row.middle} (${data.row.low ?? "–"} to ${data.row.high ?? "–"})` },
      series: [{ type: "custom", encode: { x: [1, 2], y: 0 }, data: rows.map((row, index) => ({ value: [index, row.low ?? row.middle, row.high ?? row.middle, row.middle], row, itemStyle: { color: page.colour(colours[row.judgement]) } })),
        renderItem: (_, api) => { const [x0, y] = api.coord([api.value(1), api.value(0)]), [x1] = api.coord([api.value(2), api.value(0)]), [x] = api.coord([api.value(3), api.value(0)]), fill = api.visual("color");
          return { type: "group", children: [{ type: "rect", shape: { x: x0, y: y - 1, width: Math.max(1, x1 - x0), height: 2 }, style: { fill } }, { type: "circle", shape: { cx: x, cy: y, r: 5 }, style: { fill } }] }; },
        markLine: { symbol: "none", silent: true, data: [{ xAxis: 0 }], lineStyle: { color: page.colour("soft") }, label: { show: false } } }],
    }));
    place.replaceChildren(page.table(`${total.words} by cell`, [
      { title: "cell", text: (row) => row.cell }, { title: "judgement", text: (row) => row.judgement }, { title: "first", text: (row) => page.number(row.first, 3), value: (row) => row.first, numeric: true }, { title: "second", text: (row) => page.number(row.second, 3), value: (row) => row.second, numeric: true },
      { title: "difference", text: (row) => page.number(row.middle, 3), value: (row) => row.middle, numeric: true }, { title: "interval", text: (row) => `${page.number(row.low, 3)} to ${page.number(row.high, 3)}`, value: (row) => row.low, numeric: true }, { title: "pairs", text: (row) => page.number(row.pairs), value: (row) => row.pairs, numeric: true },
    ], rows));
    document.documentElement.dataset.ready = select.value;
  }
  select.addEventListener("change", show);
  show();
})();
