# SPDX-License-Identifier: GPL-2.0-or-later
"""hlog.py LOG [PER_MILLE]...: each interval that PyPI's hdrhistogram finds, a JSON object a line."""
import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600 * 10**9, 3))
while (h := reader.get_next_interval_histogram()) is not None:
    n = h.get_total_count()
    at = [h.get_value_at_percentile(100 * -(-n * int(q) // 1000) / n) if n else 0 for q in sys.argv[2:]]
    print(json.dumps({"tag": h.get_tag(), "count": n, "start": h.get_start_time_stamp(), "at": at}))
