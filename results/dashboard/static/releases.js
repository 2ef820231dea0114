// Two releases side by side, cell by cell.
const releases = {
  show(where) {
    const make = page.make, worlds = [...new Set(model.versions.map(model.world))].sort(compare);
    const left = where.left ?? worlds.at(-2) ?? worlds[0], right = where.right ?? worlds.at(-1);
    const select = (name, value) => make("label", {}, name === "left" ? "This" : "Beside", make("select", { id: `release-${name}`, onchange: (event) => { location.hash = address.of(["releases"], { left, right, [name]: event.target.value }); } },
      worlds.map((world) => make("option", { value: world, selected: world === value }, world))));
    const rows = model.versions.filter((row) => model.world(row) === left).map((one) => ({ one, two: model.versions.find((row) => model.world(row) === right && row.mode === one.mode && row.flush === one.flush && row.fault === one.fault) }));
    const both = rows.filter((row) => row.two), pair = (title, figure, say, worse = 1) => ({ title, text: ({ one, two }) => `${say(one[figure])} / ${say(two[figure])}`, value: ({ one, two }) => worse * ((two[figure] ?? 0) - (one[figure] ?? 0)), numeric: true });
    return [
      make("h1", {}, "Two releases side by side"), make("div", { class: "filters" }, select("left", left), select("right", right)),
      make("p", {}, `${both.length} cells were run with both. Figures: ${left} / ${right}. Sorting is by the difference. mqchaos compare pairs runs by plan and seed and judges each difference.`),
      both.length ? releases.whole(both, left, right) : null,
      both.length ? page.table("Figures of both releases", [
        { title: "cell", text: ({ one }) => cellName(one), node: ({ one }) => make("a", { href: address.cell(one) }, cellName(one)) },
        { title: "runs", text: ({ one, two }) => `${page.number(one.runs)} / ${page.number(two.runs)}`, value: ({ one }) => one.runs, numeric: true },
        pair("failed", "failed", (value) => page.number(value)), pair("lost of 10,000", "lost_per_10000", (value) => page.number(value, 1)), pair("sends that succeeded", "ok_share", page.percent, -1),
        pair("RTO median", "recovery_p50_ms", page.ms), pair("RTO 90 %", "recovery_p90_ms", page.ms), pair("send 99 %, steady", "steady_p99_ms", page.ms),
      ], both, { part: 30, sort: { index: 3, down: true } }) : make("p", {}, "No cell was run with both."),
    ];
  },
  // Cell by cell, since the two may have been run in different mixes: a difference shows where the intervals do not meet.
  whole(both, left, right) {
    const name = ({ one }) => cellName(one), failing = (row) => model.interval(row.failed, row.runs);
    const apart = (words, low, high) => {
      const above = both.filter(({ one, two }) => high(one) !== null && low(two) !== null && low(two) > high(one)), below = both.filter(({ one, two }) => high(two) !== null && low(one) !== null && low(one) > high(two));
      const list = (cells) => (cells.length ? ` (${cells.slice(0, 3).map(name).join("; ")}${cells.length > 3 ? "; …" : ""})` : "");
      return page.make("li", {}, page.make("strong", {}, `${words}: `), `worse in ${above.length} cells${list(above)}, better in ${below.length}${list(below)}, no difference shows in ${both.length - above.length - below.length}.`);
    };
    const mean = (side) => page.number(model.sum(both.map((pair) => pair[side]), "lost_per_10000") / both.length, 1), total = (side, figure) => page.number(model.sum(both.map((pair) => pair[side]), figure));
    return page.make("div", { class: "card", id: "whole" }, page.make("p", {}, `${right} beside ${left}, cell by cell:`), page.make("ul", {},
      apart(`runs that fail (${total("one", "failed")} of ${total("one", "runs")} and ${total("two", "failed")} of ${total("two", "runs")})`, (row) => failing(row)[0], (row) => failing(row)[1]),
      apart("median time to recover", (row) => row.recovery_p50_ms_low, (row) => row.recovery_p50_ms_high),
      page.make("li", {}, page.make("strong", {}, "acknowledged messages lost: "), `${mean("one")} and ${mean("two")} of 10,000, the mean of the cells. Messages of a run are lost together, so this has no interval; pairs of runs do.`)));
  },
};
