// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/html.h"

/* Colours 1 to 9: of few and of many waits. */
#define LIGHT                                                  \
	"color-scheme:light;--bg:#fff;--fg:#1b1f24;"           \
	"--dim:#59636e;--line:#d1d9e0;--soft:#f6f8fa;"         \
	"--link:#0b57b0;--bad:#b3261e;--edge:#0003;"           \
	"--c1:#d8eee2;--c2:#b7e0d2;--c3:#8fd0c3;--c4:#64bcb5;" \
	"--c5:#3fa3a8;--c6:#2b879a;--c7:#206a88;--c8:#1a4d71;--c9:#132f54;"
#define DARK                                                   \
	"color-scheme:dark;--bg:#0f141a;--fg:#e6edf3;"         \
	"--dim:#9aa5b1;--line:#303943;--soft:#171e26;"         \
	"--link:#79b8ff;--bad:#ff8a80;--edge:#fff4;"           \
	"--c1:#17323e;--c2:#1b495b;--c3:#1f6378;--c4:#247f93;" \
	"--c5:#319cab;--c6:#58b9b7;--c7:#8bd2bd;--c8:#c2e7bf;--c9:#f7fac4;"

const char html_style[] =
	":root{" LIGHT "}"
	"@media screen and (prefers-color-scheme:dark){:root{" DARK "}}"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;padding:1rem;max-width:84rem;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,sans-serif}"
	"h1{font-size:1.6rem;margin:.2em 0}h2{font-size:1.3rem;margin:2em 0 .2em;padding-top:.6em;"
	"border-top:1px solid var(--line)}h3{font-size:1.05rem;margin:1.4em 0 .3em}"
	"p{margin:.3em 0 .8em;max-width:60rem}.dim,small,caption{color:var(--dim)}"
	".bad{color:var(--bad);font-weight:600}a{color:var(--link)}"
	"code{font:.92em ui-monospace,monospace;overflow-wrap:anywhere}"
	"nav{display:flex;flex-wrap:wrap;gap:.2em 1.2em;margin:.8em 0}"
	"dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15em 1.2em;margin:.8em 0}"
	"dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}"
	"details{border:1px solid var(--line);border-radius:6px;margin:.5em 0;padding:0 .8em}"
	"td details{min-width:12rem;margin:.2em 0}"
	"summary{cursor:pointer;padding:.35em 0;overflow-wrap:anywhere}details[open]{padding-bottom:.8em}"
	".summary{font-size:1.05rem;overflow-wrap:anywhere}"
	".verdict{font-size:1.05rem;font-weight:600;padding-left:1.2em;overflow-wrap:anywhere}"
	".wide{position:relative;overflow:auto;max-height:60rem;margin:.6em 0 1.2em;background:"
	"linear-gradient(to right,var(--bg) 40%,transparent) left/2rem 100% no-repeat local,"
	"linear-gradient(to left,var(--bg) 40%,transparent) right/2rem 100% no-repeat local,"
	"linear-gradient(to right,var(--edge),transparent) left/.8rem 100% no-repeat,"
	"linear-gradient(to left,var(--edge),transparent) right/.8rem 100% no-repeat}"
	".wide .wide{max-height:none}"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
	"font-variant-ligatures:none}"
	"caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
	"td caption,details caption{position:static;width:auto;height:auto;clip-path:none;"
	"text-align:left}"
	"td,th{padding:.22em .5em;border-bottom:1px solid var(--line);text-align:right;"
	"vertical-align:top;white-space:nowrap}"
	"td.t,th.t,tbody th,thead th:first-child{text-align:left}"
	"td.w,tbody th{white-space:normal;overflow-wrap:break-word;max-width:26rem}td.w{min-width:14rem}"
	"tbody th.n{white-space:nowrap}tbody th{font-weight:500;min-width:min(14rem,34vw)}td th{min-width:0}"
	"thead th{font-weight:600;vertical-align:bottom;border:0;"
	"box-shadow:inset 0 -1px var(--line);background:var(--soft);position:sticky;top:0}"
	"td thead th{position:static}"
	"tbody tr:hover{background:var(--soft)}"
	"th button{all:unset;cursor:pointer;white-space:nowrap}"
	"th[aria-sort=ascending] button:after{content:' \\25b2'}"
	"th[aria-sort=descending] button:after{content:' \\25bc'}"
	":focus-visible,th button:focus-visible{outline:2px solid var(--link);outline-offset:2px}"
	".fig{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:1rem;margin:.5em 0}"
	".fig figure{margin:0;overflow-x:auto}figcaption{color:var(--dim);font-size:.87rem}"
	"svg{display:block;width:100%;min-width:27rem;height:auto;font:11px system-ui,sans-serif}"
	".fig figure:first-child svg{min-width:40rem}.two{grid-template-columns:repeat(2,minmax(0,1fr))}"
	".fig.two figure svg{min-width:27rem}"
	"svg text{fill:var(--dim)}.g{stroke:var(--line);fill:none}.f{fill:var(--soft)}"
	".q{fill:none;stroke:var(--link);stroke-width:1.8;stroke-linejoin:round}"
	".q2{fill:none;stroke:var(--bad);stroke-width:1.8;stroke-dasharray:6 3}"
	".m{shape-rendering:crispEdges}.panels figure{margin:.4em 0}.line svg{max-width:48rem}"
	".c1{fill:var(--c1);background:var(--c1)}.c2{fill:var(--c2);background:var(--c2)}"
	".c3{fill:var(--c3);background:var(--c3)}.c4{fill:var(--c4);background:var(--c4)}"
	".c5{fill:var(--c5);background:var(--c5)}.c6{fill:var(--c6);background:var(--c6)}"
	".c7{fill:var(--c7);background:var(--c7)}.c8{fill:var(--c8);background:var(--c8)}"
	".c9{fill:var(--c9);background:var(--c9)}"
	".legend{display:flex;flex-wrap:wrap;gap:.2em .9em;list-style:none;margin:.3em 0;padding:0;"
	"font-size:.87rem;color:var(--dim)}.legend i{display:inline-block;width:1em;height:1em;"
	"margin-right:.3em;vertical-align:-.15em;print-color-adjust:exact;"
	"-webkit-print-color-adjust:exact}"
	".pick{display:block;margin:.6em 0}select{font:inherit;max-width:100%;padding:.2em;"
	"color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:4px}"
	"@media screen and (max-width:82rem){table{font-size:.92em}td,th{padding:.22em .4em}"
	"td.w{min-width:10rem}tbody th{min-width:min(11rem,34vw)}}"
	"@media screen and (max-width:60rem){.fig{grid-template-columns:minmax(0,1fr)}}"
	"@media screen and (max-width:36rem){body{padding:.6rem;font-size:14px}dl{grid-template-columns:1fr}"
	"dt{margin-top:.4em}}"
	"@page{size:A4 landscape;margin:11mm}"
	"@media print{body{max-width:none;padding:0;font-size:9pt}.wide,.fig figure{overflow:visible;"
	"max-height:none;background:none}table{font-size:7pt}td,th{padding:.12em .25em}"
	"thead th,th button,tbody th.n,td.t{white-space:normal;overflow-wrap:anywhere;min-width:2em}"
	"td.t{min-width:4.2em}td.w{min-width:8em}td details{min-width:0}"
	"tbody th{min-width:6em;max-width:14rem}tbody th.n{min-width:7em;overflow-wrap:break-word}thead th{position:static}td[data-v],code{"
	"overflow-wrap:normal}nav,.pick{display:none}figure,tr,summary,h2,h3{break-inside:avoid}"
	"h2,h3,summary,caption{break-after:avoid}.fig,.fig figure svg,.fig figure:first-child svg{"
	"min-width:0;break-inside:avoid}.fig{max-width:70%}details{border:0;padding:0}"
	":not(td)>details::details-content{content-visibility:visible;block-size:auto}}";

/*
 * Heads of tables sort, a list chooses which of many panels is open, all are open on paper. Without
 * it the page has all the same numbers.
 */
const char html_script[] =
	"'use strict';(()=>{"
	"const all=(q,e=document)=>[...e.querySelectorAll(q)];"
	"const value=c=>!c?'':c.dataset.v!==undefined?Number(c.dataset.v):c.textContent.trim();"
	"const order=(a,b)=>typeof a===typeof b?(a<b?-1:a>b?1:0):typeof a==='number'?1:-1;"
	"const sort=(table,at,th)=>{"
	"const down=th.getAttribute('aria-sort')!=='descending',body=table.tBodies[0];"
	"all('th',table.tHead).forEach(h=>h.removeAttribute('aria-sort'));"
	"th.setAttribute('aria-sort',down?'descending':'ascending');"
	"[...body.rows].map(r=>[value(r.cells[at]),r])"
	".sort((a,b)=>down?order(b[0],a[0]):order(a[0],b[0])).forEach(p=>body.append(p[1]));};"
	"all('table').forEach(t=>{if(t.tBodies[0].rows.length<2)return;"
	"[...t.tHead.rows[0].cells].forEach((th,i)=>{const b=document.createElement('button');"
	"b.type='button';b.append(...th.childNodes);th.append(b);"
	"b.addEventListener('click',()=>sort(t,i,th));});});"
	"all('.panels').forEach(p=>{const d=[...p.children].filter(c=>c.tagName==='DETAILS');"
	"if(d.length<2)return;const label=document.createElement('label'),"
	"s=document.createElement('select');label.className='pick';label.append('Show: ',s);"
	"d.forEach((e,i)=>{s.append(new Option(e.firstElementChild.textContent,i));"
	"e.hidden=i>0;e.open=i===0;});"
	"s.addEventListener('change',()=>d.forEach((e,i)=>{e.hidden=i!=s.value;e.open=!e.hidden;}));"
	"p.prepend(label);"
	"addEventListener('beforeprint',()=>d.forEach(e=>{e.hidden=false;e.open=true;}));"
	"addEventListener('afterprint',()=>s.dispatchEvent(new Event('change')));});"
	"})();";

const char html_script_hash[] = "sha256-EAL51UBiuLL+ZHXrDClIRMknZGc4Ri4AbLZLk6z9Th0=";
