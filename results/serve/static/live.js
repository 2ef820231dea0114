// The run under way: news comes as events; charts are drawn at most twice a second, and while nobody looks not at all.
const live = {
  DRAWN_MS: 500,
  begin(about) {
    Object.assign(live, { about, slices: new Map(), events: [], faults: new Map(), phase: "", outcome: "", load: 0 });
    document.getElementById("title").textContent = about.scenario || about.run;
    document.getElementById("about").textContent = `${about.mode}, ${about.flush} flush, ${about.target} on ${about.backend}, seed ${about.seed} (${about.run})`;
    document.getElementById("end").replaceChildren();
    document.title = `${about.scenario || about.run} · mqchaos`;
  },
  take(news) {
    if (news.problem) { live.say(news.problem); return; }
    if (news.about) live.begin(news.about);
    for (const [begin, ...figures] of news.slices) live.slices.set(begin, figures);
    for (const event of news.events) live.event(event);
    Object.assign(live, { ops: news.ops, last: news.last, unanswered: news.unanswered, ended: news.ended, received: news.received });
    if (news.outcome && news.outcome !== live.outcome) live.end(news);
    live.figures();
    live.soon();
  },
  event([at, kind, node, fault, step, verb]) {
    live.events.push([at, kind, node, fault, step]);
    if (kind === "phase") { live.phase = step; if (step === "steady") live.load = at; live.say(`Phase: ${step}`); }
    if (kind !== "fault") return;
    const one = live.faults.get(fault) ?? live.faults.set(fault, { verb: fault, begin: null, end: null }).get(fault);
    if (verb) one.verb = verb;
    if (step === "inject") { one.begin = at; live.say(`${one.verb} injected at ${live.clock(at)}`); }
    if (step === "heal") { one.end = at; live.say(`${one.verb} undone at ${live.clock(at)}`); }
  },
  end(news) {
    live.outcome = news.outcome;
    document.getElementById("end").replaceChildren(page.verdict(news.outcome), " ", news.report ? page.make("a", { href: "/live/report.html" }, "Report of this run") : "");
    live.say(`The run is over: ${news.outcome}`);
  },
  // News counts from the start of the run; what is shown counts as at: does, from the beginning of the load.
  clock: (at, digits = 3) => `${(at - live.load).toFixed(digits)} s`,
  say(text) { document.getElementById("said").textContent = text; },
  figures() {
    const entry = (name, value) => page.make("div", {}, page.make("dt", {}, name), page.make("dd", {}, value)), [ok, weak, fail, info] = live.ended;
    const inForce = [...live.faults.values()].filter((fault) => fault.begin !== null && fault.end === null).map((fault) => fault.verb);
    document.getElementById("figures").replaceChildren(entry("clock of the scenario", live.clock(live.last, 1)), entry("phase", live.phase || "–"), entry("faults in force", inForce.join(", ") || "none"), entry("operations", page.number(live.ops)),
      entry("sends that were promised", page.number(ok)), entry("stored, not promised", page.number(weak)), entry("refused", page.number(fail)), entry("without an answer", page.number(info)), entry("sends waiting now", page.number(live.unanswered)), entry("messages received", page.number(live.received)));
    document.documentElement.dataset.ready = live.about.run;
    document.documentElement.dataset.last = live.last;
  },
  soon() {
    live.pending ??= setTimeout(() => requestAnimationFrame(() => { live.pending = undefined; live.draw(); }), live.DRAWN_MS);
  },
  from() { const span = Number(document.getElementById("span").value); return span ? Math.max(0, live.last - span) : 0; },
  async draw() {
    const from = live.from(), rows = [...live.slices].filter(([begin]) => begin >= from).sort((a, b) => a[0] - b[0]);
    const bands = { silent: true, itemStyle: { color: page.colour("fault-soft"), borderColor: page.colour("fault"), borderWidth: 1 }, label: { color: page.colour("fault"), position: "insideTop", fontWeight: "bold" },
      data: [...live.faults].filter(([, fault]) => fault.begin !== null && (fault.end ?? live.last) >= from).map(([id, fault]) => [{ name: `${id} ${fault.verb}`, xAxis: Math.max(from, fault.begin) }, { xAxis: fault.end ?? live.last }]) };
    const axis = { type: "value", min: from, max: Math.max(from + 1, live.last), axisLabel: { formatter: (value) => live.clock(value, 1), hideOverlap: true } };
    const colours = ["ok", "weak", "refused", "open"], words = ["ok", "weak", "refused", "no answer"];
    await live.chart("rates", `Sends a second over ${live.last.toFixed(0)} seconds`, {
      grid: { left: 8, right: 16, top: 20, bottom: 8, containLabel: true }, xAxis: axis, yAxis: { type: "value", min: 0 }, tooltip: { trigger: "axis" },
      series: colours.map((colour, index) => ({ type: "bar", stack: "sends", name: words[index], barCategoryGap: "0%", itemStyle: { color: page.colour(colour) }, data: rows.map(([begin, figures]) => [begin + 0.25, figures[index] * 2]), markArea: index ? undefined : bands })),
    });
    await live.chart("latency", "Median and 99 % latency of answered sends in milliseconds", {
      grid: { left: 8, right: 16, top: 30, bottom: 8, containLabel: true }, xAxis: axis, yAxis: { type: "log", name: "ms" }, legend: { top: 0 }, tooltip: { trigger: "axis", valueFormatter: page.ms },
      series: [["median", 5, "measure", "solid"], ["99 %", 6, "other", "dashed"]].map(([name, index, colour, type]) => ({ type: "line", name, showSymbol: false, itemStyle: { color: page.colour(colour) }, lineStyle: { color: page.colour(colour), type }, data: rows.map(([begin, figures]) => [begin + 0.25, figures[index] || null]) })),
    });
    const acts = live.events.slice(-200).reverse();
    document.getElementById("acts").replaceChildren(page.table(`The last ${page.number(acts.length)} of ${page.number(live.events.length)} events, newest first`, [
      { title: "at", text: (row) => live.clock(row[0]), value: (row) => row[0], numeric: true }, { title: "what", text: (row) => row[1] }, { title: "node", text: (row) => row[2] || "–" }, { title: "fault", text: (row) => (row[3] ? `${row[3]} ${live.faults.get(row[3])?.verb ?? ""}` : "–") }, { title: "step", text: (row) => row[4] },
    ], acts, { part: 30 }));
    document.documentElement.dataset.drawn = live.last;
  },
  // A chart is made once; afterwards only its data are set.
  async chart(name, label, option) {
    const element = document.getElementById(name), drawn = page.drawn.get(element);
    live.options = { ...live.options, [name]: option };
    if (drawn) { drawn.chart.setOption(page.dressed(option)); element.setAttribute("aria-label", label); }
    else await page.chart(element, label, () => live.options[name]);
  },
};
document.getElementById("span").addEventListener("change", () => live.soon());
const source = new EventSource("/live/events");
source.addEventListener("message", (event) => live.take(JSON.parse(event.data)));
source.addEventListener("error", () => live.say("The server has ended, or is not reached; trying again."));
