// One cell of the matrix: what its mode guarantees, how its runs ended, and what a client went through.
const cellView = {
  show(where) {
    const make = page.make, cells = model.chosen(model.cell_outcomes, where);
    if (!cells.length) return [make("h1", {}, "Nothing was run here"), make("p", {}, address.link([""], {}, "To the matrix"))];
    const total = model.total(cells), outcome = model.outcome(total), runs = model.chosen(model.losses, where);
    return [
      make("h1", {}, page.verdict(outcome), ` ${cellName(cells[0])}`),
      make("p", {}, where.world ?? `${cells.length} brokers and backends together: ${cells.map(model.world).join("; ")}`),
      cellView.facts(total, cells), cellView.guarantee(cells[0]),
      make("h2", {}, "Runs"), page.table(`${model.listed(runs)}, worst first`, runColumns(), [...runs].sort((a, b) => ({ FAIL: 0, UNKNOWN: 1, PASS: 2 })[a.outcome] - ({ FAIL: 0, UNKNOWN: 1, PASS: 2 })[b.outcome] || b.lost - a.lost), { part: 20 }),
      make("h2", {}, "Loss by run"), cellView.distribution(runs),
      make("h2", {}, "Availability around the fault"), cellView.availability(where),
      make("h2", {}, "Latency of sends around the fault"), cellView.latency(where),
      make("h2", {}, "What clients went through"), cellView.stages(where),
      make("h2", {}, "Duplicates"), cellView.duplicates(where),
      make("h2", {}, "Replication"), cellView.replication(where),
    ];
  },
  facts(total, cells) {
    const entry = (name, value) => page.make("div", {}, page.make("dt", {}, name), page.make("dd", {}, value));
    const days = [Math.min(...cells.map((cell) => cell.first_epoch_ms)), Math.max(...cells.map((cell) => cell.last_epoch_ms))].map((ms) => new Date(ms).toISOString().slice(0, 10));
    return page.make("dl", { class: "facts" },
      entry("failed", model.share(total.failed, total.runs)), entry("unknown", model.share(total.unknown, total.runs)), entry("with loss", model.share(total.with_loss, total.runs)),
      entry("lost", `${page.number(total.lost)} of ${page.number(total.acknowledged)} acknowledged`), entry("of these outside the contract", page.number(total.lost_broken)),
      entry("days", days[0] === days[1] ? days[0] : `${days[0]} to ${days[1]}`), entry("commits", [...new Set(cells.map((cell) => cell.commits))].join(", ") || "–"),
      entry("checks that were not PASS", [...new Set(cells.map((cell) => cell.checks).filter(Boolean))].join(", ") || "none"));
  },
  guarantee(cell) {
    const [words, source] = model.vocabulary.guarantees[`${cell.mode}/${cell.flush}/${cell.fault}`] ?? [];
    return words ? page.make("details", {}, page.make("summary", {}, "What the mode guarantees under this fault"), page.make("p", {}, words), page.make("p", { class: "soft" }, `Source: ${source}`)) : null;
  },
  distribution(runs) {
    if (!runs.some((run) => run.lost)) return page.make("p", {}, "No run lost an acknowledged message.");
    const sorted = [...runs].sort((a, b) => a.lost - b.lost), element = page.make("div", { class: "chart", style: "height:16rem" });
    page.chart(element, `Lost messages in each of ${runs.length} runs, from the least; at most ${sorted.at(-1).lost}`, () => ({
      grid: { left: 8, right: 16, top: 28, bottom: 24, containLabel: true }, tooltip: { formatter: ({ data }) => `${data.run}: ${data.value} lost` },
      xAxis: { type: "category", data: sorted.map((run) => run.run), axisLabel: { show: false }, name: "runs, from the least loss", nameLocation: "middle", nameGap: 8 },
      yAxis: { type: "value", name: "lost", minInterval: 1 },
      series: [{ type: "bar", barCategoryGap: "10%", data: sorted.map((run) => ({ value: run.lost, run: run.run, itemStyle: { color: page.colour(run.lost_broken ? "fail" : "allowed") } })) }],
    }), (chart) => chart.on("click", ({ data }) => { location.hash = address.of(["run", data.run]); }));
    return element;
  },
  availability(where) {
    const rows = model.chosen(model.availability, where);
    if (!rows.length) return page.make("p", {}, "No fault took effect in these runs.");
    const line = (affected) => { const bins = new Map(); for (const row of rows) if (row.affected === affected) { const bin = bins.get(row.bin) ?? [0, 0]; bin[0] += row.succeeded; bin[1] += row.attempts; bins.set(row.bin, bin); }
      return [...bins].sort((a, b) => a[0] - b[0]).map(([bin, [succeeded, attempts]]) => [bin / 10, (100 * succeeded) / attempts, attempts]); };
    const series = [["brokers that were hit", true, "fail", "solid"], ["other brokers", false, "ok", "dashed"]].filter(([, affected]) => rows.some((row) => row.affected === affected));
    const element = page.make("div", { class: "chart", style: "height:18rem" });
    page.chart(element, "Share of sends that succeeded, in tenths of a second around the fault", () => ({
      grid: { left: 8, right: 16, top: 36, bottom: 30, containLabel: true }, legend: { top: 0 }, tooltip: { trigger: "axis", formatter: (points) => [`${points[0].value[0]} s after the fault`, ...points.map((point) => `${point.seriesName}: ${page.number(point.value[1])} % of ${page.number(point.value[2])} sends`)].join("<br>") },
      xAxis: { type: "value", name: "seconds after the fault", nameLocation: "middle", nameGap: 22, min: "dataMin", max: "dataMax" }, yAxis: { type: "value", name: "% succeeded", min: 0, max: 100 },
      series: series.map(([name, affected, colour, type], index) => ({ type: "line", name, step: "start", showSymbol: false, data: line(affected), lineStyle: { color: page.colour(colour === "fail" ? "measure" : "other"), type }, itemStyle: { color: page.colour(colour === "fail" ? "measure" : "other") },
        markLine: index ? undefined : { symbol: "none", data: [{ xAxis: 0 }], lineStyle: { color: page.colour("fault") }, label: { formatter: "fault", color: page.colour("fault") } } })),
    }));
    return element;
  },
  latency(where) {
    const rows = model.chosen(model.latency_over_time, where);
    if (!rows.length) return page.make("p", {}, "No fault took effect in these runs.");
    const one = [...new Set(rows.map(model.world))].slice(0, 2), element = page.make("div", { class: "chart", style: "height:18rem" });
    page.chart(element, "Median and 99 % latency of answered sends, by second around the fault", () => ({
      grid: { left: 8, right: 16, top: 36, bottom: 30, containLabel: true }, legend: { top: 0 }, tooltip: { trigger: "axis", valueFormatter: page.ms },
      xAxis: { type: "value", name: "seconds after the fault", nameLocation: "middle", nameGap: 22, min: "dataMin", max: "dataMax" }, yAxis: { type: "log", name: "ms" },
      series: one.flatMap((world, index) => [["median", "p50_ms", "solid"], ["99 %", "p99_ms", "dashed"]].map(([name, figure, type]) => ({ type: "line", showSymbol: false, name: one.length > 1 ? `${name}, ${world}` : name, lineStyle: { type, color: page.colour(index ? "other" : "measure") }, itemStyle: { color: page.colour(index ? "other" : "measure") },
        data: rows.filter((row) => model.world(row) === world && row[figure] > 0).sort((a, b) => a.second - b.second).map((row) => [row.second, row[figure]]) }))),
    }));
    return element;
  },
  stages(where) {
    const rows = model.chosen(model.failovers, where), stage = (title, name) => ({ title, text: (row) => (row[name] === null ? "–" : `${page.ms(row[name])} (${page.number(row[`${name}_count`])})`), value: (row) => row[name], numeric: true });
    return rows.length ? page.table("Median time after the fault; in brackets, in how many faults it came to that", [
      { title: "fault", text: (row) => row.verb }, { title: "broker", text: model.world }, { title: "faults", text: (row) => page.number(row.count_all), value: (row) => row.count_all, numeric: true },
      stage("first send fails", "detected_ms"), stage("a send succeeds elsewhere", "elsewhere_ms"), stage("a send succeeds there", "back_ms"), stage("fault is undone", "healed_ms"), stage("cluster is whole", "converged_ms"),
    ], rows) : page.make("p", {}, "No fault took effect in these runs.");
  },
  duplicates(where) {
    const rows = model.chosen(model.duplicates, where);
    return rows.length ? page.table("Messages that were there, or were delivered, more than once", [
      { title: "kind", text: (row) => row.kind }, { title: "cause", text: (row) => row.cause }, { title: "broker", text: model.world },
      { title: "messages", text: (row) => page.number(row.messages), value: (row) => row.messages, numeric: true }, { title: "runs", text: (row) => page.number(row.runs), value: (row) => row.runs, numeric: true },
    ], rows) : page.make("p", {}, "None.");
  },
  replication(where) {
    const rows = model.chosen(model.replication_lags, where);
    return rows.length ? page.table("How far slaves were behind when they lost or found their master", [
      { title: "master", text: (row) => row.master }, { title: "broker", text: model.world }, { title: "times", text: (row) => page.number(row.count_all), value: (row) => row.count_all, numeric: true },
      { title: "median, bytes of log", text: (row) => page.number(row.behind_bytes), value: (row) => row.behind_bytes, numeric: true },
    ], rows) : page.make("p", {}, "No slave lost or found its master.");
  },
};
