#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of OTLP/JSON on stdin, parsed by opentelemetry-proto's classes: for each its points, in plain JSON.

Runs in the environment that tests/vm/fetch.sh otlp makes.
"""
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest


def plain(attributes):
    return sorted([a.key, a.value.string_value] for a in attributes)


def points_of(metric):
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    for p in data.data_points:
        one = {"name": metric.name, "unit": metric.unit, "help": metric.description, "kind": kind,
               "labels": plain(p.attributes), "start": p.start_time_unix_nano, "time": p.time_unix_nano}
        if kind != "gauge":
            one["temporality"] = data.aggregation_temporality
        if kind == "sum":
            one.update(monotonic=data.is_monotonic, value=p.as_int)
        elif kind == "gauge":
            one["value"] = p.as_double
        else:
            one.update(count=p.count, sum=p.sum, scale=p.scale, zero=p.zero_count, threshold=p.zero_threshold,
                       offset=p.positive.offset, buckets=list(p.positive.bucket_counts),
                       min=p.min if p.HasField("min") else None, max=p.max if p.HasField("max") else None)
        yield one


for line in sys.stdin:
    request = json_format.Parse(line, ExportMetricsServiceRequest())
    if not request.IsInitialized() or len(request.resource_metrics) != 1:
        raise ValueError("not one resource")
    resource = request.resource_metrics[0]
    points = [p for s in resource.scope_metrics for m in s.metrics for p in points_of(m)]
    print(json.dumps({"resource": dict(plain(resource.resource.attributes)), "points": points}))
