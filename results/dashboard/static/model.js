// The tables as objects, the address of a view, and what is counted together.
const model = {
  async load() {
    model.take(await page.json("marts"));
    model.vocabulary = await page.json("vocabulary");
    model.served = model.losses === undefined;
  },
  take(tables) {
    for (const [name, { columns, rows }] of Object.entries(tables))
      model[name] = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
    if (tables.losses) model.runs = new Map(model.losses.map((row) => [row.run, row]));
  },
  // Rows of single runs are in the page, or come from its server: those of the view, worst first.
  async need(where, run = "") {
    if (!model.served) return;
    const mine = (model.asked = (model.asked ?? 0) + 1);
    const answer = await fetch(`/rows?${new URLSearchParams(run ? { run } : { ...where, at: "" })}`);
    if (!answer.ok) throw new Error(await answer.text());
    const { tables, fitting } = await answer.json();
    if (mine !== model.asked) return;  // a later question was answered before
    model.take(tables);
    model.fitting = fitting;
  },
  // "2,000 of 31,000 runs" where not all that fit are here.
  listed: (runs) => (model.fitting > runs.length ? `${page.number(runs.length)} of ${page.number(model.fitting)} runs` : `${page.number(runs.length)} runs`),
  world: (row) => `${row.target} on ${row.backend}`,
  worlds: () => [...new Set(model.cell_outcomes.map(model.world))].sort(),
  // A mode that the contracts do not know comes after those that they do.
  configurations(rows) {
    const modes = model.vocabulary.modes, place = (mode) => (modes.includes(mode) ? modes.indexOf(mode) : modes.length);
    const seen = new Map(rows.map((row) => [`${row.mode} / ${row.flush}`, row]));
    return [...seen.values()].sort((a, b) => place(a.mode) - place(b.mode) || compare(a.mode, b.mode) || compare(a.flush, b.flush));
  },
  // Rows that the address asks for. A planted bug is there to be found, so such runs are shown apart.
  chosen(rows, where) {
    return rows.filter((row) => (!where.mode || row.mode === where.mode) && (!where.flush || row.flush === where.flush)
      && (!where.fault || row.fault === where.fault) && (!where.world || model.world(row) === where.world)
      && ((where.bugs === "planted") === (row.defects !== "")));
  },
  sum: (rows, name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0),
  outcome: (cell) => (cell.failed ? "FAIL" : cell.unknown ? "UNKNOWN" : "PASS"),
  total(cells) {
    const total = Object.fromEntries(["runs", "passed", "unknown", "failed", "acknowledged", "lost", "lost_allowed", "lost_broken", "with_loss"]
      .map((name) => [name, model.sum(cells, name)]));
    total.lost_max = Math.max(0, ...cells.map((cell) => cell.lost_max ?? 0));
    return total;
  },
  // 95 % interval of a share (Wilson).
  interval(count, total) {
    if (!total) return [null, null];
    const z = 1.959964, p = count / total, n = total, middle = p + (z * z) / (2 * n);
    const half = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
    return [Math.max(0, (middle - half) / (1 + (z * z) / n)), Math.min(1, (middle + half) / (1 + (z * z) / n))];
  },
  share(count, total) {
    const [low, high] = model.interval(count, total);
    return total ? `${page.number(count)} of ${page.number(total)} (95 %: ${page.percent(low)} to ${page.percent(high)})` : "not run";
  },
};
const address = {
  parse() {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    return { path: path.split("/").map(decodeURIComponent), where: Object.fromEntries(new URLSearchParams(query ?? "")) };
  },
  of(path, where = {}) {
    const query = new URLSearchParams(Object.entries(where).filter(([, value]) => value)).toString();
    return `#/${path.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
  },
  link: (path, where, ...words) => page.make("a", { href: address.of(path, where) }, ...words),
  cell: (row, where = {}) => address.of(["cell"], { mode: row.mode, flush: row.flush, fault: row.fault, world: where.world, bugs: where.bugs }),
};
const cellName = (row) => `${row.mode}, ${row.flush} flush, ${row.fault === "none" ? "no fault" : row.fault}`;
