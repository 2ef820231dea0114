// The first view: worst first, the matrix of modes and faults, losses, recoveries, what was never tested, all runs.
const overview = {
  CHARTED: 16,
  show(where) {
    const cells = model.chosen(model.cell_outcomes, where);
    const total = model.total(cells), make = page.make;
    const outcome = total.runs ? model.outcome(total) : "UNKNOWN";
    return [
      make("h1", {}, page.verdict(outcome), ` ${overview.headline(total, where)}`),
      overview.filters(where), overview.questions(cells, where),
      make("h2", { id: "worst" }, "Worst first"), overview.worst(cells, where),
      make("h2", { id: "matrix" }, "Deployment modes and faults"), overview.legend(), overview.matrix(cells, where),
      make("h2", { id: "loss" }, "How much is lost"), overview.losses(cells, where),
      make("h2", { id: "recovery" }, "How long it is down"), overview.recoveries(where),
      make("h2", { id: "untested" }, "What was never tested"), overview.untested(where),
      make("h2", { id: "efficacy" }, "Did the faults take effect?"), overview.efficacy(),
      make("h2", { id: "latency" }, "Latency of sends, before and during faults"), overview.latency(where),
      make("h2", { id: "same" }, "Same plan and seed, run again"), overview.flakiness(),
      make("h2", { id: "costs" }, "What the checks cost"), overview.costs(),
      make("h2", { id: "runs" }, "Runs"), overview.runs(model.chosen(model.losses, where), where),
    ];
  },
  headline(total, where) {
    if (!total.runs) return "No runs fit these filters";
    const what = where.bugs === "planted" ? "runs of brokers with planted bugs" : "runs of brokers without planted bugs";
    const parts = [[total.failed, "failed"], [total.unknown, "unknown"], [total.passed, "passed"]].filter(([count]) => count);
    return `${page.number(total.runs)} ${what}: ${parts.map(([count, word]) => `${page.number(count)} ${word}`).join(", ")}`;
  },
  filters(where) {
    const make = page.make, go = (name) => (event) => { location.hash = address.of([""], { ...where, at: "", [name]: event.target.value }); };
    const select = (name, title, choices) => make("label", {}, title, make("select", { id: `filter-${name}`, onchange: go(name) },
      choices.map(([value, words]) => make("option", { value, selected: (where[name] ?? "") === value }, words))));
    const seen = (name) => [["", "all"], ...[...new Set(model.cell_outcomes.map((cell) => cell[name]))].sort().map((value) => [value, value === "none" ? "no fault" : value])];
    return make("div", { class: "filters", role: "search", "aria-label": "Filters" },
      select("world", "Broker and backend", [["", "all"], ...model.worlds().map((world) => [world, world])]),
      select("mode", "Mode", seen("mode")), select("flush", "Flush", seen("flush")), select("fault", "Fault", seen("fault")),
      select("bugs", "Brokers", [["", "without planted bugs"], ["planted", "with planted bugs"]]));
  },
  // What people come with: all of them links, each with an address of its own that opens at the answer.
  questions(cells, where) {
    const make = page.make, ask = (href, words, on = {}) => make("li", {}, make("a", { href, ...on }, words));
    const to = (id, words) => {
      const href = address.of([""], { ...where, at: id });
      return ask(href, words, { "data-to": id, onclick: (event) => { event.preventDefault(); history.replaceState(null, "", href); overview.goTo(id); } });
    };
    const one = model.lost_messages.find((row) => model.runs.get(row.run) && model.chosen([model.runs.get(row.run)], where).length);
    return make("ul", { class: "questions", "aria-label": "Questions" }, to("loss", "How much is lost?"), to("recovery", "How long is it down?"),
      ask(address.of(["releases"]), "Did a release get worse?"), to("untested", "What was never tested?"),
      one ? ask(address.of(["run", one.run, "message", String(one.message)]), "One lost message, and why") : null);
  },
  goTo(id) {
    const heading = document.getElementById(id);
    if (!heading) return;
    heading.tabIndex = -1;
    heading.scrollIntoView();
    heading.focus({ preventScroll: true });
  },
  // A cell's place in the list: broken guarantees, then what is unknown, then allowed losses.
  rank: (cell) => [cell.failed > 0 ? 0 : cell.unknown > 0 ? 1 : cell.lost > 0 ? 2 : 3, -(cell.failed / cell.runs), -(cell.lost_broken ?? 0), -cell.lost],
  worst(cells, where) {
    const ordered = [...cells].sort((a, b) => { const [x, y] = [overview.rank(a), overview.rank(b)]; return x.map((value, i) => value - y[i]).find((d) => d) ?? 0; });
    const shown = ordered.filter((cell) => overview.rank(cell)[0] < 3).slice(0, 8);
    if (!shown.length) return page.make("p", {}, cells.length ? "No run failed, none is unknown, and nothing acknowledged was lost." : "Nothing was run.");
    return page.make("ul", { class: "plain" }, shown.map((cell) => {
      const outcome = model.outcome(cell), word = outcome === "PASS" ? "ALLOWED" : outcome;
      return page.make("li", { class: `card edge-${word}` }, page.verdict(word), " ",
        page.make("a", { href: address.cell(cell, { ...where, world: model.world(cell) }) }, `${cellName(cell)} (${model.world(cell)})`),
        page.make("p", {}, overview.sentence(cell)));
    }));
  },
  sentence(cell) {
    if (cell.failed) return `${model.share(cell.failed, cell.runs)} runs failed: ${cell.checks}.${cell.lost_broken ? ` ${page.number(cell.lost_broken)} acknowledged messages were lost that the contract does not allow to be lost.` : ""}`;
    if (cell.unknown) return `${model.share(cell.unknown, cell.runs)} runs are unknown: ${cell.checks}. Unknown is not a pass.`;
    return `Messages were lost in ${model.share(cell.with_loss, cell.runs)} runs, as the contract allows: ${page.number(cell.lost)} of ${page.number(cell.acknowledged)} acknowledged, at most ${page.number(cell.lost_max)} in one run.`;
  },
  legend() {
    return page.make("p", { class: "soft" }, "Passed runs of all runs. A green cell kept the whole contract of its mode in every run, and its faults took effect; a loss that the contract allows is told in words. An empty cell was never run.");
  },
  matrix(cells, where) {
    const make = page.make, seen = [...new Set(cells.map((cell) => cell.fault))].sort((a, b) => (a !== "none") - (b !== "none") || compare(a, b));
    const faults = [...seen, ...Object.keys(model.vocabulary.verbs).filter((verb) => !seen.includes(verb))];
    const rows = model.configurations([...cells, ...model.vocabulary.modes.filter((mode) => !cells.some((cell) => cell.mode === mode)).map((mode) => ({ mode, flush: "–" }))]);
    const head = faults.map((fault) => make("th", { scope: "col", class: "up", title: model.vocabulary.verbs[fault] }, make("span", {}, fault)));
    const body = rows.map((row) => make("tr", {}, make("th", { scope: "row" }, `${row.mode} / ${row.flush}`), faults.map((fault) => {
      const group = cells.filter((cell) => cell.mode === row.mode && cell.flush === row.flush && cell.fault === fault);
      return make("td", { class: "cell" }, group.length ? overview.entry(group, where) : make("span", { class: "soft" }, make("span", { "aria-hidden": "true" }, "–"), make("span", { class: "unseen" }, "never run")));
    })));
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Matrix of modes and faults" },
      make("table", { class: "matrix" }, make("caption", {}, "Rows: deployment mode and flush type. Columns: faults; those that were never run are at the end."),
        make("thead", {}, make("tr", {}, make("td", {}), head)), make("tbody", {}, body)));
  },
  entry(group, where) {
    const total = model.total(group), outcome = model.outcome(total);
    return page.make("a", { href: address.cell(group[0], where), class: `entry ${outcome}` },
      page.make("strong", {}, outcome), ` ${page.number(total.passed)}/${page.number(total.runs)}`,
      total.with_loss ? page.make("span", { class: "small" }, `loss in ${page.number(total.with_loss)}`) : null);
  },
  losses(cells, where) {
    const lossy = cells.filter((cell) => cell.lost > 0).sort((a, b) => b.lost / b.acknowledged - a.lost / a.acknowledged);
    if (!lossy.length) return page.make("p", {}, "No acknowledged message was lost.");
    const charted = lossy.slice(0, overview.CHARTED), runs = model.chosen(model.losses, where), names = charted.map((cell) => `${cellName(cell)} (${model.world(cell)})`);
    const element = page.make("div", { class: "chart", style: `height:${7 + (innerWidth < 700 ? 3.6 : 2.6) * Math.min(lossy.length, overview.CHARTED)}rem` });
    const points = charted.flatMap((cell, row) => runs.filter((run) => run.fault === cell.fault && run.mode === cell.mode && run.flush === cell.flush && model.world(run) === model.world(cell))
      .map((run) => ({ value: [run.lost, row], run, itemStyle: { color: page.colour(run.lost_broken ? "fail" : "allowed") } })));
    page.chart(element, `Lost messages by run, for ${charted.length} cells; the table below has the same figures`, () => ({
      grid: { left: 8, right: 24, top: 28, bottom: 8, containLabel: true },
      tooltip: { formatter: ({ data }) => `${data.run.run}<br>${data.value[0]} lost of ${data.run.acknowledged} acknowledged` },
      xAxis: { type: "value", name: "messages lost in a run", nameLocation: "middle", nameGap: 22, position: "top" },
      yAxis: { type: "category", data: names, inverse: true, axisLabel: { width: innerWidth < 700 ? 130 : 420, overflow: "break", fontSize: innerWidth < 700 ? 11 : 13, lineHeight: innerWidth < 700 ? 13 : 16, interval: 0 } },
      series: [{ type: "scatter", symbolSize: 9, data: points.map((point) => ({ ...point, itemStyle: { ...point.itemStyle, opacity: 0.6 } })), large: points.length > 5000 }],
    }), (chart) => chart.on("click", ({ data }) => { location.hash = address.of(["run", data.run.run]); }));
    return page.make("div", {}, page.make("p", {}, `One dot a run${model.served ? ", of the worst" : ""}${lossy.length > charted.length ? `; the ${charted.length} cells that lose the greatest share` : ""}. Only messages that were answered with SEND_OK count.`), element,
      page.make("details", { open: true }, page.make("summary", {}, "As a table"), page.table("Acknowledged messages that were lost, the greatest share first", [
        { title: "cell", node: (cell) => page.make("a", { href: address.cell(cell, { ...where, world: model.world(cell) }) }, cellName(cell)), text: cellName },
        { title: "lost of 10,000 acknowledged", text: (cell) => page.number((cell.lost * 10000) / cell.acknowledged, 1), value: (cell) => cell.lost / cell.acknowledged, numeric: true },
        { title: "broker", text: model.world }, { title: "runs", text: (cell) => page.number(cell.runs), value: (cell) => cell.runs, numeric: true },
        { title: "runs with loss", text: (cell) => page.number(cell.with_loss), value: (cell) => cell.with_loss, numeric: true },
        { title: "lost in all", text: (cell) => page.number(cell.lost), value: (cell) => cell.lost, numeric: true },
        { title: "outside the contract", text: (cell) => page.number(cell.lost_broken), value: (cell) => cell.lost_broken, numeric: true },
      ], lossy, { part: 12 })));
  },
  recoveries(where) {
    const rows = model.chosen(model.recovery_times, where).filter((row) => row.affected).sort((a, b) => (b.p90_ms ?? 1e12) - (a.p90_ms ?? 1e12));
    if (!rows.length) return page.make("p", {}, "No fault took effect in these runs.");
    const points = new Map(model.chosen(model.recovery_points, where).map((row) => [`${cellName(row)}${model.world(row)}`, row]));
    const point = (row) => points.get(`${cellName(row)}${model.world(row)}`);
    return page.make("div", {}, page.make("p", {}, "Recovery time (RTO): from the fault to the next successful send, for each queue of the brokers that were hit. A queue that had not come back when the load ended counts as waiting; a quantile that too few reached is “more than” the longest wait. Recovery point (RPO): age of the oldest lost message at the fault."),
      page.table("Recovery by cell; 95 % intervals in brackets", [
        // The answer stands beside its cell, where a narrow screen shows it.
        { title: "cell", node: (row) => page.make("a", { href: address.cell(row, { ...where, world: model.world(row) }) }, cellName(row)), text: cellName },
        { title: "RTO median", text: (row) => quantile(row, "p50_ms"), value: (row) => row.p50_ms ?? 1e12, numeric: true },
        { title: "RTO 90 %", text: (row) => quantile(row, "p90_ms"), value: (row) => row.p90_ms ?? 1e12, numeric: true },
        { title: "broker", text: model.world },
        { title: "queues × faults", text: (row) => page.number(row.observed), value: (row) => row.observed, numeric: true },
        { title: "not back", text: (row) => page.number(row.censored), value: (row) => row.censored, numeric: true },
        { title: "RPO median", text: (row) => (point(row) ? quantile(point(row), "p50_ms") : "–"), value: (row) => point(row)?.p50_ms, numeric: true },
        { title: "RPO 99 %", text: (row) => (point(row) ? page.ms(point(row).p99_ms) : "–"), value: (row) => point(row)?.p99_ms, numeric: true },
      ], rows, { part: 12 }));
  },
  untested(where) {
    const rows = model.coverage.filter((row) => !where.world || model.world(row) === where.world);
    const verbs = Object.keys(model.vocabulary.verbs), modes = model.vocabulary.modes;
    const never = verbs.filter((verb) => !rows.some((row) => row.verb === verb));
    const gaps = verbs.filter((verb) => !never.includes(verb)).map((verb) => ({ verb, modes: modes.filter((mode) => !rows.some((row) => row.verb === verb && row.mode === mode)) })).filter((gap) => gap.modes.length);
    return page.make("div", {},
      page.make("p", {}, never.length ? page.make("span", {}, page.make("strong", {}, `${never.length} of ${verbs.length} faults never took effect in any run: `), never.join(", "), ".") : "Every fault took effect in some run."),
      gaps.length ? page.make("ul", {}, gaps.map((gap) => page.make("li", {}, page.make("strong", {}, gap.verb), ` never in ${gap.modes.join(", ")}`))) : null,
      page.make("details", {}, page.make("summary", {}, `What was tested: ${page.number(rows.length)} combinations`), page.table("Faults that took effect, by role, state of the cluster and kind of message", [
        { title: "fault", text: (row) => row.verb }, { title: "on", text: (row) => row.role }, { title: "state", text: (row) => row.state }, { title: "messages", text: (row) => row.kind },
        { title: "mode", text: (row) => `${row.mode}, ${row.flush}` }, { title: "broker", text: model.world }, { title: "runs", text: (row) => page.number(row.runs), value: (row) => row.runs, numeric: true },
      ], rows)));
  },
  efficacy() {
    return page.table("Planned faults that took effect", [
      { title: "fault", text: (row) => row.verb }, { title: "on", text: (row) => row.role }, { title: "broker", text: model.world },
      { title: "planned", text: (row) => page.number(row.planned), value: (row) => row.planned, numeric: true },
      { title: "took effect", text: (row) => `${page.percent(row.took_effect / row.planned)} (${page.percent(row.took_effect_low)} to ${page.percent(row.took_effect_high)})`, value: (row) => row.took_effect / row.planned, numeric: true },
      { title: "no effect", text: (row) => page.number(row.no_effect), value: (row) => row.no_effect, numeric: true },
      { title: "cannot be told", text: (row) => page.number(row.cannot_be_told), value: (row) => row.cannot_be_told, numeric: true },
      { title: "not undone", text: (row) => page.number(row.not_undone), value: (row) => row.not_undone, numeric: true },
    ], model.fault_efficacy, { sort: { index: 4, down: false } });
  },
  latency(where) {
    const rows = model.chosen(model.latencies, where).filter((row) => row.f === "send" && (row.phase === "steady" || row.phase === "faults"));
    return page.table("Answered sends", [
      { title: "cell", text: cellName }, { title: "broker", text: model.world }, { title: "phase", text: (row) => row.phase },
      { title: "answered", text: (row) => page.number(row.answered), value: (row) => row.answered, numeric: true },
      ...["p50_ms", "p90_ms", "p99_ms", "max_ms"].map((name) => ({ title: { p50_ms: "median", p90_ms: "90 %", p99_ms: "99 %", max_ms: "longest" }[name], text: (row) => page.ms(row[name]), value: (row) => row[name], numeric: true })),
    ], rows, { part: 20, sort: { index: 6, down: true } });
  },
  flakiness() {
    if (!model.flakiness.length) return page.make("p", {}, "No plan was run twice with the same seed, broker and commit.");
    return page.table("Plans that were run more than once with one seed. In the simulator there must be one history", [
      { title: "scenario", text: (row) => row.scenario }, { title: "seed", text: (row) => row.seed }, { title: "broker", text: model.world },
      { title: "runs", text: (row) => page.number(row.runs), value: (row) => row.runs, numeric: true },
      { title: "histories", text: (row) => page.number(row.histories), value: (row) => row.histories, numeric: true },
      { title: "outcomes", text: (row) => row.seen },
    ], model.flakiness, { part: 20 });
  },
  costs() {
    if (!model.check_costs.length) return page.make("p", {}, "Not measured yet: ", page.make("code", {}, "mqchaos lake recheck"), " judges all runs again and takes the time of each check.");
    return page.table("Time of each check, of the last re-check", [
      { title: "check", text: (row) => row.check },
      { title: "runs", text: (row) => page.number(row.runs), value: (row) => row.runs, numeric: true },
      { title: "all runs", text: (row) => page.ms(1000 * row.total_s), value: (row) => row.total_s, numeric: true },
      { title: "median run", text: (row) => page.ms(row.p50_ms), value: (row) => row.p50_ms, numeric: true },
      { title: "longest", text: (row) => page.ms(row.max_ms), value: (row) => row.max_ms, numeric: true },
    ], model.check_costs, { sort: { index: 2, down: true } });
  },
  runs(runs, where) {
    const box = page.make("input", { type: "search", id: "find-run", placeholder: "run, scenario, fault, check …", value: where.find ?? "" });
    const place = page.make("div", {}), order = { FAIL: 0, UNKNOWN: 1, PASS: 2 };
    const list = (rows) => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((run) => { const text = `${run.run} ${run.scenario} ${run.mode} ${run.fault} ${run.target} ${run.backend} ${run.outcome} ${run.failed_checks} ${run.seed}`.toLowerCase(); return words.every((word) => text.includes(word)); })
        .sort((a, b) => order[a.outcome] - order[b.outcome] || b.lost - a.lost);
      page.say(`${found.length} runs`);
      place.replaceChildren(page.table(`${model.listed(found)}, worst first`, runColumns(), found));
    };
    const find = async () => {
      const wanted = box.value;
      history.replaceState(null, "", address.of([""], { ...where, at: "", find: wanted }));
      await model.need({ ...where, find: wanted });
      if (wanted === box.value) list(model.served ? model.chosen(model.losses, where) : runs);
    };
    box.addEventListener("input", find);
    list(runs);
    return page.make("div", {}, page.make("div", { class: "filters" }, page.make("label", {}, "Find runs", box)), place);
  },
};
const quantile = (row, name) => {
  const [low, high] = [row[`${name}_low`], row[`${name}_high`]];
  const longest = row.greatest === null ? "" : `> ${page.ms(row.greatest)}`;
  if (row[name] === null) return longest || "never";
  if (row[name] === 0 && low === 0) return page.ms(0);
  if (high === null) return `${page.ms(row[name])} (at least ${page.ms(low)})`;
  return low === high ? page.ms(low) : `${page.ms(row[name])} (${page.ms(low)} to ${page.ms(high)})`;
};
const runColumns = () => [
  { title: "verdict", node: (run) => page.verdict(run.outcome), text: (run) => run.outcome },
  { title: "run", node: (run) => address.link(["run", run.run], {}, run.run), text: (run) => run.run },
  { title: "scenario", text: (run) => run.scenario }, { title: "fault", text: (run) => run.fault }, { title: "broker", text: model.world }, { title: "seed", text: (run) => run.seed },
  { title: "acknowledged", text: (run) => page.number(run.acknowledged), value: (run) => run.acknowledged, numeric: true },
  { title: "lost", text: (run) => page.number(run.lost), value: (run) => run.lost, numeric: true },
  { title: "oldest lost", text: (run) => page.ms(run.oldest_lost_ms), value: (run) => run.oldest_lost_ms, numeric: true },
  { title: "checks", text: (run) => run.failed_checks },
];
