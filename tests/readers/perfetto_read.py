# SPDX-License-Identifier: GPL-2.0-or-later
"""perfetto_read.py TRACE: each event of the trace that PyPI's perfetto classes find, a JSON object a line."""
import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as f:
    trace.ParseFromString(f.read())
words, categories, threads, parents = {}, {}, {}, {}
for packet in trace.packet:
    words.update({w.iid: w.name for w in packet.interned_data.debug_annotation_names})
    categories.update({c.iid: c.name for c in packet.interned_data.event_categories})
    if packet.HasField("track_descriptor"):
        d = packet.track_descriptor
        parents[d.uuid] = d.parent_uuid
        if d.HasField("thread"):
            threads[d.uuid] = d.thread.pid, d.thread.tid
    if not packet.HasField("track_event"):
        continue
    e = packet.track_event
    track = e.track_uuid
    while track and track not in threads:
        track = parents[track]
    print(json.dumps({
        "ts": packet.timestamp, "type": TrackEvent.Type.Name(e.type), "track": e.track_uuid, "name": e.name,
        "thread": threads.get(track), "category": categories[e.category_iids[0]] if e.category_iids else None,
        "notes": {words[a.name_iid]: a.string_value or a.uint_value for a in e.debug_annotations},
        "flows": list(e.flow_ids), "ends": list(e.terminating_flow_ids)}))
