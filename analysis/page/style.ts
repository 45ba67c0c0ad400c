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
  font: 1.0625rem/1.55 var(--serif); text-rendering: optimizeLegibility; overflow-wrap: anywhere;
}
.skip { position: absolute; left: -999rem; top: 0; padding: .6rem 1rem; background: var(--paper); }
.skip:focus { left: 0; z-index: 1; }
header, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
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
:target { background: var(--tint); }
.lead, .authors { font-size: 1.2rem; color: var(--faint); margin: 0 0 .5rem; }
.authors + .link { margin-top: 0; }
.ran { font: .95rem/1.5 var(--sans); margin: 1rem 0; }
.ran div { display: flex; gap: 1rem; } .ran dt { flex: 0 0 9rem; font-weight: 600; }
.ran dd { margin: 0; max-width: 50rem; }
.notice { border-left: .3rem solid var(--mark); background: var(--tint); padding: .8rem 1rem; margin: 1rem 0; max-width: 44rem; }
.notice details { margin: 0; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 1.5rem 0 0; font: .95rem/1.6 var(--sans); }
.table { margin: 1.5rem 0 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; overflow-wrap: normal; font: .875rem/1.4 var(--sans); font-variant-numeric: tabular-nums lining-nums; }
caption { text-align: left; overflow-wrap: anywhere; padding: 0 0 .5rem; }
th, td { padding: .35rem .9rem .35rem 0; text-align: left; vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
.right { text-align: right; } td.right { white-space: nowrap; }
.wide { min-width: 14rem; } .broken { overflow-wrap: anywhere; min-width: 8rem; }
th { font-weight: 600; } tbody th { font-weight: 500; }
thead th { border-top: 2px solid var(--ink); border-bottom: 1px solid var(--ink); vertical-align: bottom; }
tbody { border-bottom: 1px solid var(--rule); }
tbody:last-of-type { border-bottom: 2px solid var(--ink); }
.note, .files { font: .85rem/1.5 var(--sans); color: var(--faint); margin: .35rem 0; }
.files a { margin-right: .9rem; }
figure { margin: 1.5rem 0 2rem; }
figure svg { display: block; max-width: 100%; min-width: 35rem; height: auto; overflow: visible; }
figcaption { font: .9rem/1.5 var(--sans); color: var(--faint); max-width: 42rem; margin-top: .5rem; }
figcaption b { color: var(--ink); margin-right: .9rem; } figcaption details { margin: .35rem 0; }
figcaption summary { font-weight: 400; }
details { margin: 1rem 0; }
summary { cursor: pointer; font: 600 .95rem/1.6 var(--sans); }
code { font: .88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { overflow-x: auto; }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: .2rem solid var(--rule); }
.verdict { font-weight: 600; }
.verdict.good { color: var(--good); } .verdict.bad { color: var(--bad); } .verdict.open { color: var(--faint); }
footer { margin-top: 4rem; padding-bottom: 3rem; color: var(--faint); font-size: .95rem; }
/* Tables of many columns close up before they scroll. */
@media screen and (max-width: 76rem) {
  .lists table { font-size: .8125rem; }
  .lists th, .lists td { padding-right: .45rem; }
  .wide { min-width: 9rem; } .broken { min-width: 6rem; }
}
/* Where the screen is narrow, each row of a table of many columns is a list. */
@media screen and (max-width: 44rem) {
  .ran div { display: block; margin-bottom: .4rem; }
  .lists table, .lists tbody, .lists tr, .lists caption, .lists th, .lists td { display: block; }
  .lists thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .lists tbody { border: 0; } .lists tr { border-bottom: 1px solid var(--rule); padding: .5rem 0; }
  .lists tbody th { font-weight: 600; padding: .2rem 0; overflow-wrap: anywhere; }
  .lists td { display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0; text-align: right; white-space: normal; min-width: 0; overflow-wrap: anywhere; }
  .lists td::before { content: attr(data-label) / ""; color: var(--faint); text-align: left; flex: 0 0 40%; }
  .lists td:empty { display: none; }
  .lists td.wide { display: block; text-align: left; }
  .lists td.wide::before { display: block; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --faint: #333; --rule: #bbb; --tint: #f4f4f4; --link: #000; --good: #000; --bad: #000; --mark: #000; --first: #0072B2; --second: #D55E00; }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding: 0; }
  nav, .skip, .files a { display: none; }
  a.number { text-decoration: none; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding-right: .4rem; }
  .wide, .broken { min-width: 0; }
  figure svg { min-width: 0; max-height: 20cm; }
  figure, tr, .notice, .short { break-inside: avoid; }
  caption, thead, h2, h3, h4 { break-after: avoid; }
  p { orphans: 3; widows: 3; }
  summary { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
`.trim();
