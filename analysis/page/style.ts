/**
 * The page's style sheet: system typefaces, light and dark, narrow and printed.
 *
 * @module
 */

export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fdfdfb; --ink: #1b1b1b; --faint: #595959; --rule: #d6d6d6; --tint: #f2f1ec;
  --link: #00568a; --good: #00664a; --bad: #a33f00; --mark: #8a5a00;
  --first: #0072B2; --second: #D55E00;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --serif: ui-serif, Charter, "Iowan Old Style", "Source Serif 4", Georgia, Cambria, serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #161716; --ink: #e8e6e1; --faint: #a9a7a1; --rule: #3c3d3b; --tint: #21221f;
    --link: #8cc8ff; --good: #5fd3a8; --bad: #ff9f66; --mark: #f0c060;
    --first: #3d9be0; --second: #f28a3c;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.55 var(--serif); text-rendering: optimizeLegibility;
}
.skip { position: absolute; left: -999rem; top: 0; padding: .6rem 1rem; background: var(--paper); }
.skip:focus { left: 0; z-index: 1; }
header, main, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3.5rem; }
p, li, dd { max-width: 42rem; }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 .75rem; max-width: 48rem; text-wrap: balance; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 3.25rem 0 .75rem; }
h3 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
a { color: var(--link); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px;
}
a.number { color: inherit; text-decoration: underline dotted var(--faint) 1px; }
a.number:hover, a.number:focus-visible { color: var(--link); text-decoration: underline solid; }
a.trace { font-weight: 400; font-size: .85em; }
:target { background: var(--tint); }
.lead { font-size: 1.2rem; color: var(--faint); }
.notice { border-left: .3rem solid var(--mark); background: var(--tint); padding: .8rem 1rem; max-width: 44rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 1.5rem 0 0; font: .95rem/1.6 var(--sans); }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font: .9rem/1.4 var(--sans); font-variant-numeric: tabular-nums lining-nums; }
caption { text-align: left; font-weight: 600; padding: 0 0 .5rem; }
caption span { position: sticky; left: 0; display: inline-block; max-width: min(50rem, calc(100vw - 2.5rem)); }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: baseline; white-space: nowrap; }
td.wide, th.wide { white-space: normal; min-width: 16rem; }
th { font-weight: 600; }
tbody th { font-weight: 500; }
thead th { border-top: 2px solid var(--ink); border-bottom: 1px solid var(--ink); }
tbody { border-bottom: 1px solid var(--rule); }
tbody:last-of-type { border-bottom: 2px solid var(--ink); }
.right { text-align: right; }
.note { font: .85rem/1.5 var(--sans); color: var(--faint); margin: .35rem 0; }
figure { margin: 1.5rem 0; }
figure svg { display: block; max-width: 100%; min-width: 35rem; height: auto; overflow: visible; }
figcaption summary { font-weight: 400; }
figcaption { font: .9rem/1.5 var(--sans); color: var(--faint); max-width: 42rem; margin-top: .5rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; font: 600 .95rem/1.6 var(--sans); }
code { font: .88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.verdict { font-weight: 600; }
.verdict.good { color: var(--good); } .verdict.bad { color: var(--bad); } .verdict.open { color: var(--faint); }
footer { margin-top: 4rem; padding-bottom: 3rem; color: var(--faint); font-size: .95rem; }
@media print {
  :root { --paper: #fff; --ink: #000; --faint: #333; --rule: #bbb; --tint: #f4f4f4; --link: #000; --good: #000; --bad: #000; --mark: #000; --first: #0072B2; --second: #D55E00; }
  body { font-size: 10.5pt; }
  nav, .skip, .trace { display: none; }
  a.number { text-decoration: none; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
  th, td { white-space: normal; padding-right: .5rem; }
  td.right { white-space: nowrap; }
  figure svg { min-width: 0; max-height: 22cm; }
  figure svg, tr, .notice { break-inside: avoid; }
  summary { display: none; }
  h2, h3, caption { break-after: avoid; }
}
`.trim();
