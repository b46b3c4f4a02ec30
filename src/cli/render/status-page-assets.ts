/** Colors of the page by name: on light and on dark backgrounds. All texts have a contrast of 4.5 or more on both backgrounds. */
export const pageColors = {
  back: ['#ffffff', '#0d1117'],
  card: ['#f6f8fa', '#161b22'],
  border: ['#c3ccd5', '#3d444d'],
  text: ['#1f2328', '#e6edf3'],
  dim: ['#57606a', '#9aa4af'],
  link: ['#0550ae', '#79c0ff'],
  good: ['#116329', '#56d364'],
  warn: ['#7d4e00', '#e3b341'],
  bad: ['#b3261e', '#ff8f86'],
} as const;

const variables = (shade: 0 | 1): string =>
  Object.entries(pageColors)
    .map(([name, shades]) => `--${name}:${shades[shade]}`)
    .join(';');

/** The style of the page of `status --html`. */
export const pageStyle = `:root{${variables(0)}}
@media (prefers-color-scheme:dark){:root{${variables(1)}}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:var(--back);color:var(--text);font:1rem/1.4 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:0}
h2{font-size:1.2rem;margin:1.5rem 0 .5rem}
h3{font-size:1rem;margin:0}
p{margin:.1rem 0}
a{color:var(--link)}
ul{list-style:none;margin:0;padding:0}
nav ul,#find{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:center;margin:.5rem 0}
[hidden],#find[hidden]{display:none}
input{font:inherit;color:inherit;background:var(--back);border:1px solid var(--dim);border-radius:.25rem;padding:.25rem .5rem;max-width:100%}
:focus-visible,.host:focus{outline:2px solid var(--link);outline-offset:2px}
.host{background:var(--card);border:1px solid var(--border);border-radius:.5rem;padding:.75rem;margin:0 0 .75rem}
.gpus{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(13rem,100%),1fr));gap:.5rem;margin:.5rem 0}
.gpus li{background:var(--back);border:1px solid var(--border);border-radius:.25rem;padding:.5rem;min-width:0}
.facts,#keys,.off{color:var(--dim)}
.healthy{color:var(--good)}
.degraded,.warn{color:var(--warn)}
.failed,.hung,.unreachable,.unknown,.bad{color:var(--bad)}
.next{padding-left:1rem}
svg{display:block;width:100%;margin:.25rem 0}
.bar{height:.4rem;fill:var(--border)}
.used{fill:var(--link)}
.line{height:2rem;fill:none;stroke:var(--link);stroke-width:1.5;overflow:visible}
.line path{vector-effect:non-scaling-stroke;stroke-linecap:round}
@media print{#find,nav{display:none}}
`;

/** The script of the page: without it all hosts are shown, and there is no filter. */
export const pageScript = `'use strict';
const byId = (id) => document.getElementById(id);
const filter = byId('filter');
const hosts = [...document.querySelectorAll('.host')];
const texts = hosts.map((host) => host.textContent.toLowerCase());
function show() {
  const wanted = filter.value.trim().toLowerCase();
  hosts.forEach((host, index) => { host.hidden = !texts[index].includes(wanted); });
  for (const section of document.querySelectorAll('main section'))
    section.hidden = section.querySelector('.host:not([hidden])') === null;
  const left = hosts.filter((host) => !host.hidden).length;
  byId('found').textContent = wanted === '' ? '' : left + ' of ' + hosts.length + ' hosts';
}
function move(by) {
  const shown = hosts.filter((host) => !host.hidden);
  const at = shown.indexOf(document.activeElement.closest('.host'));
  const next = shown[Math.max(0, Math.min(shown.length - 1, at + by))];
  if (next !== undefined) next.focus();
}
byId('find').hidden = false;
filter.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    filter.value = '';
    show();
    filter.blur();
    return;
  }
  if (document.activeElement === filter) return;
  if (event.key === '/') filter.focus();
  else if (event.key === 'j') move(1);
  else if (event.key === 'k') move(-1);
  else return;
  event.preventDefault();
});
`;
