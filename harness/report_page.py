"""How a report looks: one style sheet, light and dark, no network.

Outcomes keep their colours on the whole page: blue is ok, amber stored but not promised, grey refused, violet unknown,
red a broken promise. Nothing is told by colour alone: bars have titles, badges have words.
"""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root{--page:#fbfbfa;--card:#fff;--ink:#1d2329;--soft:#5c6670;--line:#dfe3e6;--ok:#2f7ed8;--weak:#d99000;--fail:#8b949e;
--info:#9257c2;--bad:#d1242f;--pass:#1a7f4b;--unknown:#a35c00;--fault:#d1242f18;--fault-edge:#d1242f66;--code:#f0f2f4}
@media (prefers-color-scheme:dark){:root{--page:#15181b;--card:#1c2024;--ink:#e4e8eb;--soft:#9aa4ad;--line:#31373d;
--ok:#5ea4f0;--weak:#e6ab33;--fail:#7d8790;--info:#b78be0;--bad:#ff6b66;--pass:#4cc38a;--unknown:#f0a94b;
--fault:#ff6b6620;--fault-edge:#ff6b6670;--code:#262b30}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1240px;margin:0 auto;padding:24px 20px 60px}
header{display:flex;gap:20px;align-items:flex-start;background:var(--card);border:1px solid var(--line);
border-left:6px solid var(--line);border-radius:8px;padding:18px 22px}
header.pass{border-left-color:var(--pass)}header.unknown{border-left-color:var(--unknown)}
header.fail{border-left-color:var(--bad)}
header>.badge{font-size:20px;padding:6px 14px}
header.pass>.badge{background:var(--pass)}header.unknown>.badge{background:var(--unknown)}
header.fail>.badge{background:var(--bad)}
h1{font-size:22px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:17px;margin:30px 0 10px}
h3{font-size:15px;margin:0 0 6px}
header p{margin:2px 0}
.badge{display:inline-block;margin:0;padding:1px 8px;border-radius:5px;color:#fff;font-weight:650;letter-spacing:.03em}
h3 .badge{font-size:12px}
.badge.pass{background:var(--pass)}.badge.unknown{background:var(--unknown)}.badge.fail{background:var(--bad)}
@media (prefers-color-scheme:dark){.badge{color:#101214}}
code,pre{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);border-radius:4px}
code{padding:1px 5px;overflow-wrap:anywhere}pre{padding:10px 12px;overflow:auto}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:8px 18px;margin:16px 2px 0}
dt{color:var(--soft);font-size:12px}dd{margin:0;overflow-wrap:anywhere}
.check{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 16px;margin:8px 0}
.check ul{margin:6px 0;padding-left:20px}.check li{margin:3px 0;overflow-wrap:anywhere;white-space:pre-line}
.broken strong{color:var(--bad)}.reason{color:var(--unknown)}
.measures{color:var(--soft);margin:6px 0 0;font-size:13.5px}.measures b{color:var(--ink);font-weight:600}
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px}
.wide svg{display:block;width:100%;min-width:820px;height:auto}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 2px 8px;color:var(--soft);font-size:13.5px}
.legend i{display:inline-block;width:14px;height:10px;border-radius:2px;margin-right:6px}
.legend .ok{background:var(--ok)}.legend .weak{background:var(--weak)}.legend .fail{background:var(--fail)}
.legend .info{background:var(--info)}.legend .bad{background:var(--bad)}
.legend .fault{background:var(--fault);border:1px solid var(--fault-edge)}
.note{color:var(--soft);margin:0 2px 8px;font-size:13.5px}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg .lane{text-anchor:end}svg .tick{text-anchor:middle}
svg text.fault{fill:var(--bad);font-weight:600}svg text.phase{font-size:10.5px}
svg .grid{stroke:var(--line);stroke-width:1}svg .rule{stroke:var(--line);stroke-width:1}
svg line.phase{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3;opacity:.7}
svg rect.fault{fill:var(--fault);stroke:var(--fault-edge);stroke-width:1}
svg .op.ok{fill:var(--ok)}svg .op.weak{fill:var(--weak)}svg .op.fail{fill:var(--fail)}svg .op.info{fill:var(--info)}
svg .op.bad{fill:var(--bad)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:4px 14px 4px 6px;border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:600}
tr:last-child td{border-bottom:0}
details{margin:4px 0}summary{cursor:pointer;color:var(--soft)}summary b{color:var(--ink)}
@media (max-width:640px){header{flex-direction:column;gap:10px}}
"""
