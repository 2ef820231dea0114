// The page of one run: the timeline with its panels, the proof of each finding, and #op=N as the address of an operation.
const run = {
  from: 0, to: 1,
  panels() {
    const { data } = timeline, narrow = innerWidth < 700, left = narrow ? 96 : 210, right = 18;
    const nodes = [...new Set([...data.states.map((state) => state.node), ...data.marks.map((mark) => mark[1])])].filter(Boolean).sort();
    const members = [...new Set(data.roles.map((stretch) => stretch.node))].sort();
    const sizes = [["lanes", Math.max(60, timeline.lanes.length * 26)], ...(data.texts ? [] : [["nodes", Math.max(20, nodes.length * 20)], ...(members.length ? [["roles", members.length * 20]] : []), ["rates", 90], ["latency", 90]]), ...(data.positions.length ? [["positions", 90]] : [])];
    let top = 58;
    const grids = sizes.map(([name, height]) => { const grid = { name, left, right, top, height, outerBoundsMode: "none" }; top += height + 26; return grid; });
    return { grids, nodes, members, height: top + 56, narrow, left };
  },
  async show() {
    const element = document.getElementById("timeline");
    run.layout = run.panels();
    element.style.height = `${run.layout.height}px`;
    [run.from, run.to] = [timeline.begins_s, timeline.end_s];
    const over = timeline.data.texts ? "in the order of events" : `over ${(timeline.end_s - timeline.begins_s).toFixed(1)} seconds with ${timeline.data.faults.length} faults, ${run.layout.nodes.length} nodes`;
    const label = `Timeline of ${page.number(timeline.data.count)} operations ${over}. The tables of this page have the same facts.`;
    await page.chart(element, label, run.option, (chart) => {
      run.chart = chart;
      chart.on("datazoom", () => { const { startValue, endValue } = chart.getOption().dataZoom[0]; [run.from, run.to] = [startValue, endValue]; run.soon(); });
      chart.on("click", ({ data }) => { if (data?.index >= 0) location.hash = `op=${timeline.op[data.index]}`; });
      run.fill();
    });
    run.keys(element);
    run.buttons();
    document.getElementById("in-view").addEventListener("toggle", run.list);
  },
  soon() { run.pending ??= requestAnimationFrame(() => { run.pending = null; run.fill(); }); },
  option() {
    const { grids, nodes, members, narrow, left } = run.layout, { data } = timeline, colour = page.colour;
    const short = (text) => (narrow ? text.replace(/^(sends to|reads of) .*\/(broker-)?/, (whole, side) => `${side.split(" ")[0]} `) : text);
    const bottom = grids.length - 1;
    const x = grids.map((grid, index) => ({ type: "value", gridIndex: index, containShape: false, min: timeline.begins_s, max: timeline.end_s, axisLabel: { show: index === bottom, formatter: (value) => (data.texts ? timeline.axis(value) : `${Number(value.toFixed(6))} s`), hideOverlap: true, showMaxLabel: false, showMinLabel: run.from === 0 }, splitLine: { show: true }, axisTick: { show: index === bottom } }));
    const y = grids.map(({ name }, index) => ({ gridIndex: index, ...{
      lanes: { type: "category", inverse: true, data: timeline.lanes.map((lane) => short(data.lanes[lane])), axisLabel: { interval: 0, fontSize: 11, width: left - 12, overflow: "truncate" } },
      nodes: { type: "category", inverse: true, data: nodes, axisLabel: { interval: 0, fontSize: 11, width: left - 12, overflow: "truncate" } },
      roles: { type: "category", inverse: true, data: members.map((node) => `${node} role`), axisLabel: { interval: 0, fontSize: 11, width: left - 12, overflow: "truncate" } },
      rates: { type: "value", name: "sends/s", nameLocation: "middle", nameGap: narrow ? 40 : 60, min: 0, splitNumber: 2 }, latency: { type: "log", name: "send, ms", nameLocation: "middle", nameGap: narrow ? 40 : 60, axisLabel: { hideOverlap: true } },
      positions: { type: "value", name: "log, bytes", nameLocation: "middle", nameGap: narrow ? 46 : 70, splitNumber: 2 },
    }[name] }));
    const at = (name) => { const index = grids.findIndex((grid) => grid.name === name); return { xAxisIndex: index, yAxisIndex: index }; };
    const bands = (index, labels) => ({ id: `faults-${index}`, type: "line", data: [], xAxisIndex: index, yAxisIndex: index, silent: !labels, markArea: { silent: true, itemStyle: { color: colour("fault-soft"), borderColor: colour("fault"), borderWidth: 1 }, label: { show: labels, color: colour("fault"), position: "insideBottom", fontWeight: "bold" },
      data: data.faults.map((fault) => [{ name: labels ? `${fault.id} ${fault.verb}` : "", xAxis: fault.begin }, { xAxis: fault.end }]).map(([a, b]) => [{ ...a, xAxis: a.xAxis / 1e9 }, { xAxis: b.xAxis / 1e9 }]) } });
    const states = { up: 0.55, paused: 0.2, down: 0 };
    const roles = { LEADER: ["measure", 14, "leads"], FOLLOWER: ["soft", 4, "follows"], CANDIDATE: ["other", 8, "stands for election"] };
    const bar = (api, from, to, y, height) => { const [x0, middle] = api.coord([from, y]), [x1] = api.coord([to, y]); return { x: x0, y: middle, width: Math.max(1.5, x1 - x0), height }; };
    const clip = (params, shape) => window.echarts.graphic.clipRectByRect(shape, params.coordSys);
    run.renderers = {
      ops: (params, api) => { const lane = api.value(2), row = api.value(3), single = api.value(4); const shape = bar(api, api.value(0), api.value(1), lane, 4), size = 24;
        shape.height = single ? 3.2 : 5.4; shape.y += -size / 2 + (single ? 1 + row * 3.8 : row * 5.6); const inside = clip(params, shape);
        return inside && { type: "rect", shape: inside, style: { fill: api.visual("color"), opacity: api.value(5) } }; },
      states: (params, api) => { const shape = bar(api, api.value(0), api.value(1), api.value(2), 8); shape.y -= 4; const inside = clip(params, shape); return inside && { type: "rect", shape: inside, style: { fill: colour("soft"), opacity: api.value(3) } }; },
      roles: (params, api) => { const stretch = data.roles[params.dataIndex], [name, height] = roles[stretch.role], shape = bar(api, api.value(0), api.value(1), api.value(2), height);
        shape.y -= height / 2; const inside = clip(params, shape), words = stretch.role === "LEADER" && stretch.term >= 0 ? [`term ${stretch.term}`, `${stretch.term}`].find((text) => inside?.width > 7 * text.length + 6) : undefined;
        return inside && { type: "rect", shape: inside, style: { fill: colour(name) }, textContent: words && { style: { text: words, fill: colour("on-colour"), fontSize: 10 } }, textConfig: { position: "inside" } }; },
    };
    return {
      grid: grids, xAxis: x, yAxis: y,
      tooltip: { trigger: "item", formatter: ({ data: one }) => one?.say ?? (one?.index >= 0 ? `${timeline.text(one.index)}<br>${timeline.when(one.index)}` : one?.index === -1 ? `${one.count} ${one.words}` : "") },
      axisPointer: { link: [{ xAxisIndex: "all" }], label: { show: false } },
      dataZoom: [{ type: "inside", xAxisIndex: x.map((_, index) => index), filterMode: "none", minValueSpan: timeline.least, zoomOnMouseWheel: true, moveOnMouseMove: true, startValue: run.from, endValue: run.to },
        { type: "slider", xAxisIndex: x.map((_, index) => index), filterMode: "none", minValueSpan: timeline.least, bottom: 8, height: 26, startValue: run.from, endValue: run.to, labelFormatter: timeline.clock, textStyle: { color: colour("soft") }, borderColor: colour("line") }],
      series: [
        ...grids.map((_, index) => bands(index, index === 0)),
        { id: "ops", type: "custom", ...at("lanes"), clip: true, renderItem: run.renderers.ops, encode: { x: [0, 1], y: 2 }, data: [], markLine: { symbol: "none", silent: true, lineStyle: { color: colour("soft"), type: "dotted" }, label: { color: colour("soft"), position: "end", rotate: 0, distance: 3, fontSize: 10 }, data: data.phases.filter(([name]) => ["steady", "heal", "converge", "drain"].includes(name)).map(([name, ns]) => ({ name, xAxis: ns / 1e9, label: { formatter: name } })) } },
        { id: "proof", type: "scatter", ...at("lanes"), symbol: "pin", symbolSize: 20, z: 5, itemStyle: { color: colour("fail") }, data: timeline.proven().map((i) => ({ value: [timeline.begin_s(i), timeline.place.get(timeline.lane[i])], index: i })) },
        ...(data.texts ? [] : [
        { id: "states", type: "custom", ...at("nodes"), clip: true, renderItem: run.renderers.states, encode: { x: [0, 1], y: 2 }, data: data.states.map((state) => ({ value: [state.begin / 1e9, state.end / 1e9, nodes.indexOf(state.node), states[state.state]], say: `${state.node} ${state.state}` })) },
        ...(members.length ? [{ id: "roles", type: "custom", ...at("roles"), clip: true, renderItem: run.renderers.roles, encode: { x: [0, 1], y: 2 }, data: data.roles.map((stretch) => ({ value: [stretch.begin / 1e9, stretch.end / 1e9, members.indexOf(stretch.node)], say: `${stretch.node} ${roles[stretch.role][2]}${stretch.term >= 0 ? ` in term ${stretch.term}` : ""}<br>${timeline.clock(stretch.begin / 1e9)} to ${timeline.clock(stretch.end / 1e9)}` })) }] : []),
        { id: "marks", type: "scatter", ...at("nodes"), symbol: "diamond", symbolSize: 8, itemStyle: { color: colour("ink") }, data: data.marks.filter((mark) => mark[1]).map(([ns, node, step, detail]) => ({ value: [ns / 1e9, nodes.indexOf(node)], say: `${node} ${step}<br>${timeline.clock(ns / 1e9)}<br>${run.escaped(detail)}` })) },
        ...timeline.colours.map((name, index) => ({ id: `rate-${index}`, name: timeline.words[index], type: "bar", stack: "sends", barCategoryGap: "0%", ...at("rates"), itemStyle: { color: colour(name) }, data: [] })),
        { id: "p50", name: "median", type: "line", ...at("latency"), showSymbol: true, symbolSize: 3, itemStyle: { color: colour("measure") }, lineStyle: { color: colour("measure"), width: 1.5 }, data: [] },
        { id: "p99", name: "99 %", type: "line", ...at("latency"), showSymbol: true, symbolSize: 3, itemStyle: { color: colour("other") }, lineStyle: { color: colour("other"), width: 1.5, type: "dashed" }, data: [] },
        ]),
        ...data.positions.map((line, index) => ({ type: line.kind === "slave" ? "scatter" : "line", ...at("positions"), name: line.name, showSymbol: false, symbol: "triangle", symbolSize: 8, step: "end", itemStyle: { color: colour(line.kind === "slave" ? "other" : "measure") }, lineStyle: { color: colour("measure"), type: ["solid", "dashed", "dotted"][index % 3] }, data: line.points.map(([ns, value]) => ({ value: [ns / 1e9, value], say: `${line.name}<br>${page.number(value)} bytes at ${timeline.clock(ns / 1e9)}` })) })),
      ],
    };
  },
  escaped: (text) => String(text).replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]).slice(0, 300),
  fill() {
    const seen = timeline.view(run.from, run.to), { single, bars } = timeline.bars(seen, run.from, run.to), rates = timeline.data.texts ? null : timeline.rates(seen, run.from, run.to);
    const most = single ? 1 : Math.max(1, ...bars.map((bar) => bar[6]));
    run.seen = seen;
    run.chart.setOption({ series: [
      { id: "ops", data: bars.map(([begin, end, lane, row, colour, index, count]) => ({ value: [begin, end, lane, row, index >= 0 ? 1 : 0, index >= 0 ? 1 : 0.25 + 0.75 * Math.sqrt(count / most)], itemStyle: { color: page.colour(colour) }, index, count, words: `operations that began here, ${timeline.words[row]}` })) },
      ...(rates ? [...rates.counts.map((data, index) => ({ id: `rate-${index}`, data })), { id: "p50", data: rates.p50 }, { id: "p99", data: rates.p99 }] : []),
    ] });
    document.getElementById("timeline-note").textContent = single ? `${page.number(seen.length)} operations in view, each drawn.` : `${page.number(seen.length)} operations in view, drawn as how many began in each slice; zoom in to see each.`;
    document.documentElement.dataset.ready = `${seen.length}`;
    run.list();
  },
  zoom(from, to) {
    const span = Math.max(timeline.least, to - from), start = Math.max(timeline.begins_s, Math.min(from, timeline.end_s - span));
    run.chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue: start, endValue: Math.min(timeline.end_s, start + span) });
    [run.from, run.to] = [start, Math.min(timeline.end_s, start + span)];
    run.soon();
  },
  keys(element) {
    element.addEventListener("keydown", (event) => {
      const span = run.to - run.from, middle = (run.from + run.to) / 2;
      const move = { "+": [middle - span / 4, middle + span / 4], "=": [middle - span / 4, middle + span / 4], "-": [middle - span, middle + span], ArrowLeft: [run.from - span / 5, run.to - span / 5], ArrowRight: [run.from + span / 5, run.to + span / 5], Home: [timeline.begins_s, timeline.end_s] }[event.key];
      if (move) { event.preventDefault(); run.zoom(...move); page.say(`${timeline.clock(run.from)} to ${timeline.clock(run.to)}`); }
    });
  },
  buttons() {
    const box = document.getElementById("zooms");
    box.hidden = false;
    box.querySelector("[data-zoom=all]").addEventListener("click", () => run.zoom(timeline.begins_s, timeline.end_s));
    for (const fault of timeline.data.faults.slice(0, 12))
      box.append(page.make("button", { type: "button", class: "plain", onclick: () => run.zoom(fault.begin / 1e9 - 0.5, fault.begin / 1e9 + 1) }, `${fault.id} ${fault.verb}`));
  },
  list() {
    const box = document.getElementById("in-view");
    if (!box.open || !run.seen) return;
    const rows = run.seen.slice(0, 2000);
    box.lastElementChild.replaceChildren(page.table(`${page.number(rows.length)} of ${page.number(run.seen.length)} operations in view`, [
      { title: "operation", node: (i) => page.make("a", { href: `#op=${timeline.op[i]}` }, timeline.text(i)), text: timeline.text },
      { title: "from, to", text: timeline.when, value: (i) => timeline.begin[i] },
    ], rows));
  },
  // A finding's operations, drawn on their own clock, with a line a step.
  proofs() {
    for (const list of document.querySelectorAll(".proof")) {
      const rows = list.dataset.ops.split(",").map((op) => timeline.row(Number(op))).filter((row) => row >= 0).sort((a, b) => timeline.begin[a] - timeline.begin[b]);
      if (!rows.length) continue;
      const from = Math.min(...rows.map(timeline.begin_s)), to = Math.max(...rows.map((i) => Math.min(timeline.end_of(i), timeline.end_s))), free = Math.max(0.001, (to - from) * 0.06);
      const element = page.make("div", { class: "chart", style: `height:${70 + rows.length * 24}px;min-height:0` });
      const near = timeline.data.faults.filter((fault) => fault.begin / 1e9 <= to + free && fault.end / 1e9 >= from - free);
      page.chart(element, `The ${rows.length} operations that prove it, in time; the list below names them`, () => ({
        grid: { left: 10, right: 16, top: 22, bottom: 26, containLabel: true }, tooltip: { formatter: ({ data }) => (data?.i >= 0 ? `${timeline.text(data.i)}<br>${timeline.when(data.i)}` : "") },
        xAxis: { type: "value", min: from - free, max: to + free, axisLabel: { formatter: (value) => timeline.axis(value, to - from), hideOverlap: true } },
        yAxis: { type: "category", inverse: true, data: rows.map(timeline.name), axisLabel: { width: innerWidth < 700 ? 120 : 320, overflow: "truncate" } },
        series: [{ type: "custom", encode: { x: [0, 1], y: 2 }, clip: true, data: rows.map((i, index) => ({ value: [timeline.begin_s(i), timeline.end_of(i), index], i, itemStyle: { color: page.colour(timeline.colours[timeline.outcome[i]]) } })),
          renderItem: (params, api) => { const [x, y] = api.coord([api.value(0), api.value(2)]), [end] = api.coord([api.value(1), api.value(2)]); const shape = window.echarts.graphic.clipRectByRect({ x, y: y - 6, width: Math.max(3, end - x), height: 12 }, params.coordSys); return shape && { type: "rect", shape, style: { fill: api.visual("color") } }; },
          markArea: { silent: true, itemStyle: { color: page.colour("fault-soft") }, label: { color: page.colour("fault"), position: "top" }, data: near.map((fault) => [{ name: fault.verb, xAxis: fault.begin / 1e9 }, { xAxis: fault.end / 1e9 }]) } }],
      }));
      list.before(element);
      list.replaceChildren(...rows.map((i) => page.make("li", {}, page.make("a", { href: `#op=${timeline.op[i]}` }, timeline.text(i)), ` (${timeline.when(i)})`)));
    }
  },
  // #op=N: the operation in words, and the timeline around it.
  find() {
    const wanted = /^#op=(\d+)$/.exec(location.hash), box = document.getElementById("operation");
    if (!wanted) return;
    const i = timeline.row(Number(wanted[1]));
    box.hidden = false;
    if (i < 0) { box.textContent = `There is no operation ${wanted[1]} in this run.`; return; }
    const same = timeline.message[i] < 0 ? [] : [...timeline.op.keys()].filter((j) => timeline.message[j] === timeline.message[i] && j !== i).slice(0, 20);
    box.replaceChildren(page.make("h3", { tabindex: -1 }, timeline.text(i)), page.make("p", {}, timeline.when(i)),
      ...(same.length ? [page.make("p", {}, "Other operations on the same message:"), page.make("ul", {}, same.map((j) => page.make("li", {}, page.make("a", { href: `#op=${timeline.op[j]}` }, timeline.text(j)))))] : []));
    const middle = timeline.begin_s(i), half = Math.max(timeline.around, (Math.min(timeline.end_of(i), timeline.end_s) - middle) * 1.5);
    run.zoom(middle - half, middle + half);
    document.getElementById("timeline-title").scrollIntoView();
    box.firstElementChild.focus({ preventScroll: true });
  },
};
(async function main() {
  await timeline.load();
  if (timeline.data.count) { await run.show(); run.proofs(); run.find(); }
  else document.getElementById("timeline").textContent = "The history is empty: nothing happened.";
  addEventListener("hashchange", run.find);
})();
