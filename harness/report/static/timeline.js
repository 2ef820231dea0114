// The timeline: all operations as typed arrays, of which what is in view is drawn; faults, nodes, rates, latency, positions
// share its clock: seconds of the scenario, 0 when the load begins. What the history has counts from the start of the run.
// Few operations are drawn one by one, many as how many ended how in each slice of the view.
const timeline = {
  ONE_BY_ONE: 6000, SLICES: 240, ROWS: 6, OPEN: 4294967295,
  colours: ["ok", "weak", "refused", "open"], words: ["ok", "weak", "refused", "no answer"],
  async load() {
    const data = await page.json("timeline"), blob = await page.bytes("ops");
    const types = { i4: Int32Array, u4: Uint32Array, u2: Uint16Array, i2: Int16Array, u1: Uint8Array };
    timeline.data = data;
    for (const [name, { type, at }] of Object.entries(data.columns)) timeline[name] = new types[type](blob, at, data.count);
    timeline.unit_s = data.unit_ns / 1e9; timeline.begins_s = -data.load_ns / 1e9; timeline.end_s = (data.end_ns - data.load_ns) / 1e9;
    for (const span of [...data.faults, ...data.states, ...data.roles]) { span.begin -= data.load_ns; span.end -= data.load_ns; }
    for (const phase of data.phases) phase[1] -= data.load_ns;
    for (const point of [...data.marks, ...data.positions.flatMap((line) => line.points)]) point[0] -= data.load_ns;
    timeline.order = Uint32Array.from({ length: data.count }, (_, index) => index).sort((a, b) => timeline.begin[a] - timeline.begin[b]);
    timeline.longest = 0;
    for (let i = 0; i < data.count; i++) if (timeline.end[i] !== timeline.OPEN) timeline.longest = Math.max(timeline.longest, timeline.end[i] - timeline.begin[i]);
    const used = new Set(timeline.lane); used.delete(65535);
    timeline.lanes = [...used].sort((a, b) => a - b);
    timeline.place = new Map(timeline.lanes.map((lane, index) => [lane, index]));
    if (data.texts) Object.assign(timeline, timeline.ofEvents);
  },
  // A history of another tool has words for each operation, and an order instead of a clock.
  ofEvents: {
    least: 4, around: 12,
    axis: (value) => (Number.isInteger(value) ? page.number(value) : ""), clock: (value) => `event ${page.number(Math.round(value))}`,
    text: (i) => timeline.data.texts[i], name: (i) => timeline.data.texts[i].split(" (")[0].slice(0, 40),
    when: (i) => `event ${timeline.begin[i]} to ${timeline.end[i] === timeline.OPEN ? "never" : timeline.end[i]}`,
  },
  least: 0.001, around: 0.05,
  axis: (value, span) => `${value.toFixed(span < 0.1 ? 4 : 2)} s`,
  name: (i) => `op ${timeline.op[i]} ${timeline.data.f[timeline.f[i]]}`,
  row: (op) => { let low = 0, high = timeline.op.length - 1; while (low <= high) { const middle = (low + high) >> 1; if (timeline.op[middle] === op) return middle; if (timeline.op[middle] < op) low = middle + 1; else high = middle - 1; } return -1; },
  begin_s: (i) => timeline.begins_s + timeline.begin[i] * timeline.unit_s,
  end_of: (i) => (timeline.end[i] === timeline.OPEN ? timeline.end_s : timeline.begins_s + timeline.end[i] * timeline.unit_s),
  clock: (s) => `${s.toFixed(Math.abs(s) < 100 ? 6 : 3)} s`,
  text(i) {
    const { data } = timeline, queue = timeline.queue[i] >= 0 ? data.queues[data.queue_numbers.indexOf(timeline.queue[i])] : "";
    return `op ${timeline.op[i]}: ${data.f[timeline.f[i]]}${timeline.message[i] >= 0 ? ` m${timeline.message[i]}` : ""}${queue ? ` ${queue}` : ""}${timeline.offset[i] >= 0 ? ` @${timeline.offset[i]}` : ""}${data.node[timeline.node[i]] ? ` at ${data.node[timeline.node[i]]}` : ""}, ${data.status[timeline.status[i]] || timeline.words[timeline.outcome[i]]}`;
  },
  when: (i) => `${timeline.clock(timeline.begin_s(i))} to ${timeline.end[i] === timeline.OPEN ? "never" : timeline.clock(timeline.end_of(i))}`,
  // Indices of operations that touch [from, to], in order of their beginning.
  view(from, to) {
    const units = [(from - timeline.begins_s) / timeline.unit_s - timeline.longest, (to - timeline.begins_s) / timeline.unit_s], found = [];
    let low = 0, high = timeline.order.length;
    while (low < high) { const middle = (low + high) >> 1; if (timeline.begin[timeline.order[middle]] < units[0]) low = middle + 1; else high = middle; }
    for (let place = low; place < timeline.order.length; place++) {
      const i = timeline.order[place];
      if (timeline.begin[i] > units[1]) break;
      if (timeline.end_of(i) >= from) found.push(i);
    }
    return found;
  },
  // Bars of the lanes: [begin, end, lane, row, colour, index or −1, count].
  bars(seen, from, to) {
    const drawn = seen.filter((i) => timeline.place.has(timeline.lane[i]));
    if (drawn.length <= timeline.ONE_BY_ONE) return { single: true, bars: timeline.stacked(drawn) };
    const width = (to - from) / timeline.SLICES, counts = new Map(), marked = [];
    for (const i of drawn) {
      if (timeline.marked[i]) marked.push(i);
      const slice = Math.min(timeline.SLICES - 1, Math.max(0, Math.floor((timeline.begin_s(i) - from) / width)));
      const key = (timeline.place.get(timeline.lane[i]) * timeline.SLICES + slice) * 4 + timeline.outcome[i];
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const bars = [...counts].map(([key, count]) => { const slice = Math.floor(key / 4) % timeline.SLICES, lane = Math.floor(key / 4 / timeline.SLICES); return [from + slice * width, from + (slice + 1) * width, lane, key % 4, timeline.colours[key % 4], -1, count]; });
    return { single: false, bars: [...bars, ...timeline.stacked(marked)] };
  },
  stacked(indices) {
    const free = new Map();
    return indices.map((i) => {
      const lane = timeline.place.get(timeline.lane[i]), rows = free.get(lane) ?? free.set(lane, []).get(lane), begin = timeline.begin_s(i), end = timeline.end_of(i);
      let row = rows.findIndex((until) => until <= begin);
      if (row < 0) row = rows.length < timeline.ROWS ? rows.length : timeline.ROWS - 1;
      rows[row] = Math.max(rows[row] ?? 0, end);
      return [begin, end, lane, row, timeline.marked[i] ? "fail" : timeline.colours[timeline.outcome[i]], i, 1];
    });
  },
  // What proves something: at most 200 are pointed at.
  proven() { const found = []; for (let i = 0; i < timeline.data.count && found.length < 200; i++) if (timeline.marked[i] && timeline.place.has(timeline.lane[i])) found.push(i); return found; },
  // Sends by outcome and quantiles of their latency, in slices of the view.
  rates(seen, from, to) {
    const slices = 120, width = (to - from) / slices, counts = [0, 1, 2, 3].map(() => new Float64Array(slices)), taken = Array.from({ length: slices }, () => []);
    const send = timeline.data.f.indexOf("send");
    for (const i of seen) {
      if (timeline.f[i] !== send) continue;
      const slice = Math.floor((timeline.begin_s(i) - from) / width);
      if (slice < 0 || slice >= slices) continue;
      counts[timeline.outcome[i]][slice] += 1 / width;
      if (timeline.end[i] !== timeline.OPEN) taken[slice].push((timeline.end_of(i) - timeline.begin_s(i)) * 1000);
    }
    const middle = (slice) => from + (slice + 0.5) * width;
    const quantile = (q) => taken.map((values, slice) => { if (!values.length) return [middle(slice), null]; values.sort((a, b) => a - b); return [middle(slice), Math.max(0.001, values[Math.min(values.length - 1, Math.floor(q * values.length))])]; });
    return { counts: counts.map((row) => Array.from(row, (value, slice) => [middle(slice), value])), p50: quantile(0.5), p99: quantile(0.99) };
  },
};
