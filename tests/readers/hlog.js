// SPDX-License-Identifier: GPL-2.0-or-later
// node hlog.js LOG [PERCENT]...: each interval that npm's hdr-histogram-js finds, a JSON object a line.
const fs = require('fs');
const hdr = require(require.resolve('hdr-histogram-js', { paths: [process.cwd()] }));
const reader = new hdr.HistogramLogReader(fs.readFileSync(process.argv[2], 'utf8'), 64);
const ranks = process.argv.slice(3).map(Number); // per mille

for (let h; (h = reader.nextIntervalHistogram()) !== null;) {
	const n = h.totalCount;
	const at = ranks.map((q) => h.getValueAtPercentile((100 * Math.ceil((n * q) / 1000)) / n));
	console.log(JSON.stringify({ tag: h.tag, count: n, start: h.startTimeStampMsec, at }));
}
