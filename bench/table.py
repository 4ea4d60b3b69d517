# SPDX-License-Identifier: GPL-2.0-or-later
"""results.json as a page of tables."""


def number(value, digits=3):
    if value is None:
        return "-"
    text = "%.*g" % (digits, value)
    return "%.0f" % value if "e+" in text else text


def spread(x, unit=""):
    """1.2 (1.1-1.4); a bound on the wrong side of 0 is shown as it is."""
    if x["value"] is None:
        return "-"
    if x["low"] is None:
        return number(x["value"]) + unit + " (noise)"
    return "%s%s (%s to %s)" % (number(x["value"]), unit, number(x["low"]), number(x["high"]))


def rows(head, body):
    out = ["| %s |" % " | ".join(head), "|%s" % ("---|" * len(head))]
    return out + ["| %s |" % " | ".join(r) for r in body]


def added_of(load):
    refs = load["refs"]
    out = ["", "#### %s: %s ns per %s without a tracer" % (load["load"], number(load["base_ns"], 4), load["per"]), ""]
    body = [
        [name, spread(s["added_ns"])] + [spread(s["of"][ref]) for ref in refs]
        + [number(100 * s["of_base"]["value"], 2) + " %"]
        for name, s in load["sides"].items()
    ]
    return out + rows(["side", "added ns"] + ["× " + ref for ref in refs] + ["of the base"], body)


def added(result):
    out = []
    for load in result["added"]:
        out += added_of(load)
    for side, why in result["failed"].items():
        out += ["", "%s: %s." % (side, why.rstrip("."))]
    out += ["", "perf sched record lost %d events in all." % result["perf_lost"]] if result["perf_ran"] else []
    return out


def inflation(result):
    return rows(["stack of", "waits", "p50 ns", "p90 ns", "p50 / that with the first only"], [
        [r["stacks"], number(r["waits"]), number(r["p50_ns"]), number(r["p90_ns"]), spread(r["of_first"])]
        for r in result["inflation"]["sides"]]) + [
            "", "%(compared)d of %(rounds)d rounds; in the others a side had too few waits." % result["inflation"]]


def sampling(result):
    def percent(x):
        return spread({k: v and 100 * v for k, v in x.items()}, " %")

    return rows(["sampler", "interrupts a second", "median ns", "of the loop's time", "added", "× empty program"], [
        [r["side"], number(r["a_second"]), number(r["gap_ns"], 5), number(100 * r["lost"]) + " %",
         percent(r["added"]), spread(r["of_empty"])] for r in result["sampling"]["sides"]])


def exactness(result):
    body = [
        [m["metric"], "%g" % q["q"], number(q["exact_ns"], 6), number(q["ours_ns"], 6),
         number(100 * q["error"], 2) + " %", number(100 * q["log2_error"], 2) + " %"]
        for m in result["exact"]["metrics"] for q in m["quantiles"]
    ]
    return rows(["metric", "percentile", "exact ns", "waitscope ns", "error", "log2 buckets' error"], body)


def programs(result):
    return rows(["load", "side", "program", "ns per event"],
                [[p["load"], p["side"], p["program"], number(p["ns"])] for p in result["programs"]])


def values(pairs):
    return rows(["what", "value"], [[k.replace("_", " "), number(v)] for k, v in pairs.items()])


def verdicts(result):
    return rows(["budget", "measured", "at most", "verdict"],
                [[v["what"], number(v["value"]), number(v["limit"]), v["verdict"]] for v in result["verdicts"]])


def processor(m):
    return "%(model)s (%(vendor)s, family %(family)s, model %(number)s)" % m


def page(result):
    m = result["machine"]
    out = [
        "%s, kernel %s, %d CPUs, %s; %d rounds%s%s." % (
            m["date"], m["kernel"], m["cpus"], processor(m), result["rounds"],
            "" if result["quick"] else ", more where a verdict wanted them",
            "" if not result["noisy"] else "; the machine was not quiet %d times" % result["noisy"]),
        "", "Mitigations that calls and returns pay for: %s." % (
            "; ".join("%s: %s" % row for row in m["mitigations"].items()) or "none"),
        "", "### Verdicts", ""]
    out += verdicts(result)
    out += ["", "### Added time per operation"] + added(result)
    for title, key, lines in (
        ("Waits for a pipe's mutex, as `lock` reports them with more and fewer stacks", "inflation", inflation),
        ("Sampling the CPU clock at 997 Hz: interrupts as a CPU-bound loop sees them", "sampling", sampling),
        ("ns per event, by the kernel's run-time statistics", "programs", programs),
        ("Exactness", "exact", exactness),
        ("Loader", "loader", lambda r: values(r["loader"])),
        ("Kernel memory", "memory", lambda r: rows(["sources", "CPUs", "KB", "KB per CPU"], [
            [m["sources"], str(m["cpus"]), number(m["kb"]), number(m["kb"] / m["cpus"])] for m in r["memory"]])),
        ("Names of processes", "naming", lambda r: values(r["naming"])),
        ("Growth", "growth", lambda r: rows(["CPUs", "groups", "µs per report", "RSS MB"], [
            [str(g["cpus"]), str(g["keys"]), number(g["us"]), number(g["rss_mb"])] for g in r["growth"]])),
        ("Load held", "held", lambda r: values({
            k: v for k, v in r["held"].items() if not isinstance(v, dict)})),
    ):
        if key in result:
            out += ["", "### " + title, ""] + lines(result)
    return "\n".join(out) + "\n"
