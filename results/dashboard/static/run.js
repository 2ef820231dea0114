// One run, and one lost message of it with every operation on it.
const runView = {
  show(name) {
    const run = model.runs.get(name), make = page.make;
    if (!run) return [make("h1", {}, `No run ${name} here`), make("p", {}, "It may be beyond the runs that this page lists. ", address.link([""], {}, "To the matrix"))];
    const lost = model.lost_messages.filter((row) => row.run === name), entry = (title, value) => make("div", {}, make("dt", {}, title), make("dd", {}, value));
    return [
      make("h1", {}, page.verdict(run.outcome), ` ${run.scenario}`),
      make("p", {}, make("a", { href: address.cell(run, { world: model.world(run), bugs: run.defects ? "planted" : "" }) }, cellName(run)), ` (${model.world(run)}), seed ${run.seed}`),
      run.failed_checks ? make("p", { class: "card edge-FAIL" }, `Checks that were not PASS: ${run.failed_checks}`) : null,
      make("p", {}, run.report ? make("a", { href: run.report, id: "report" }, "Report of this run: timeline, proof, nodes") : `Its report was not beside this page: ${run.folder}/report.html`),
      make("p", {}, "Again: ", make("code", {}, run.replay)),
      make("dl", { class: "facts" }, entry("sent", page.number(run.sent)), entry("acknowledged", page.number(run.acknowledged)), entry("lost", page.number(run.lost)), entry("of these outside the contract", page.number(run.lost_broken)),
        entry("stored twice", page.number(run.duplicated)), entry("there without acknowledgement", page.number(run.recovered)), entry("operations", page.number(run.ops)), entry("planted bugs", run.defects || "none"), entry("commit", run.commit || "–")),
      make("h2", {}, "Lost messages"), lost.length ? page.table(`The ${lost.length} oldest of ${page.number(run.lost)} lost messages`, [
        { title: "message", node: (row) => address.link(["run", name, "message", String(row.message)], {}, `m${row.message}`), text: (row) => `m${row.message}`, value: (row) => row.message },
        { title: "queue", text: (row) => `${row.topic}/${row.broker}/${row.queue_id}` }, { title: "offset", text: (row) => page.number(row.offset), value: (row) => row.offset, numeric: true },
        { title: "acknowledged at", text: (row) => page.seconds(row.acked_ns), value: (row) => row.acked_ns, numeric: true }, { title: "fault after it", text: (row) => (row.fault ? `${row.verb} of ${row.nodes}` : "none") },
        { title: "before the fault", text: (row) => page.ms(row.age_ms), value: (row) => row.age_ms, numeric: true }, { title: "within the contract", text: (row) => (row.allowed ? "yes" : "no") },
      ], lost, { part: 30 }) : make("p", {}, "None."),
    ];
  },
  message(name, message) {
    const row = model.lost_messages.find((one) => one.run === name && String(one.message) === message), make = page.make;
    if (!row) return [make("h1", {}, `No lost message m${message} in ${name}`)];
    const run = model.runs.get(name), reads = row.story.filter((step) => step.f !== "send");
    const after = row.fault ? ` ${page.ms(row.age_ms)} later, at ${page.seconds(row.fault_ns)}, ${row.verb} hit ${row.nodes || "no node"} (${row.fault}).` : " No fault was injected after that.";
    const seen = reads.length ? ` It was read ${reads.length === 1 ? "once" : `${reads.length} times`} before it was gone.` : " It was never read.";
    return [
      make("h1", {}, page.verdict(row.allowed ? "ALLOWED" : "FAIL"), ` Lost: message m${message}`),
      make("p", { class: `card edge-${row.allowed ? "ALLOWED" : "FAIL"}`, id: "explanation" },
        `${row.broker} acknowledged m${message} with SEND_OK at ${page.seconds(row.acked_ns)} (queue ${row.topic}/${row.broker}/${row.queue_id}, offset ${row.offset}, position ${row.position} of its log).${after} When every queue was drained at the end, the message was not there.${seen} ${row.allowed ? "The contract of the mode allows this loss." : "The contract of the mode does not allow this loss."}`),
      runView.chart(row),
      make("h2", {}, "Every operation on it"), page.table(`Operations that sent or read m${message}`, [
        { title: "op", text: (step) => String(step.op), value: (step) => step.op, numeric: true, node: (step) => (run?.report ? make("a", { href: `${run.report}#op=${step.op}` }, String(step.op)) : String(step.op)) },
        { title: "what", text: (step) => step.f }, { title: "at", text: (step) => step.node }, { title: "offset", text: (step) => String(step.offset), value: (step) => step.offset, numeric: true },
        { title: "began", text: (step) => page.seconds(step.invoke_ns), value: (step) => step.invoke_ns, numeric: true }, { title: "ended", text: (step) => (step.complete_ns < 0 ? "no answer" : page.seconds(step.complete_ns)), value: (step) => step.complete_ns, numeric: true },
        { title: "answer", text: (step) => step.status || step.outcome },
      ], row.story),
    ];
  },
  chart(row) {
    const colours = { ok: "ok", weak: "weak", fail: "refused", info: "open" }, element = page.make("div", { class: "chart", style: `height:${8 + 1.6 * row.story.length}rem` });
    const end = Math.max(row.fault_ns ?? 0, ...row.story.map((step) => step.complete_ns));
    page.chart(element, `Timeline of ${row.story.length} operations on message m${row.message}; the table below has the same`, () => ({
      grid: { left: 8, right: 24, top: 20, bottom: 30, containLabel: true },
      tooltip: { formatter: ({ data }) => (data?.step ? `op ${data.step.op}: ${data.step.f} ${data.step.status}<br>${page.seconds(data.step.invoke_ns)}` : "") },
      xAxis: { type: "value", name: "seconds since the load began", nameLocation: "middle", nameGap: 22, min: Math.floor(Math.min(...row.story.map((step) => step.invoke_ns)) / 1e8) / 10, max: Math.ceil(end / 1e8) / 10 + 0.1 },
      yAxis: { type: "category", inverse: true, data: row.story.map((step) => `op ${step.op} ${step.f}`) },
      series: [{ type: "custom", encode: { x: [1, 2], y: 0 }, data: row.story.map((step, index) => ({ value: [index, step.invoke_ns / 1e9, (step.complete_ns < 0 ? end : step.complete_ns) / 1e9], step, itemStyle: { color: page.colour(colours[step.outcome]) } })),
        renderItem: (_, api) => { const [x, y] = api.coord([api.value(1), api.value(0)]), [to] = api.coord([api.value(2), api.value(0)]); return { type: "rect", shape: { x, y: y - 6, width: Math.max(4, to - x), height: 12, r: 2 }, style: { fill: api.visual("color") } }; },
        markLine: row.fault_ns === null ? undefined : { symbol: "none", silent: true, data: [{ xAxis: row.fault_ns / 1e9 }], lineStyle: { color: page.colour("fault"), width: 2 }, label: { formatter: `${row.verb} (${row.fault})`, color: page.colour("fault") } } }],
    }));
    return element;
  },
};
