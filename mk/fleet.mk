# SPDX-License-Identifier: GPL-2.0-or-later
# Many instances on made-up data, and a real Prometheus: a minute and a half, or FLEET_SECONDS.
INSTANCES ?= 40
check-fleet: $(O)/waitscope ## a fleet of instances, scraped by Debian's Prometheus: its quantiles and ours [INSTANCES=40]
	$(Q)O=$(O) python3 tests/fleet/fleet.py $(INSTANCES) $(or $(FLEET_SECONDS),60)

# Prometheus 3, built from the Go module proxy for it (kept in the cache): takes 10 minutes and 2 GB once.
check-prometheus: $(O)/waitscope ## Prometheus 3: native beside classic histograms, and OTLP on its receiver (takes go)
	$(Q)O=$(O) python3 tests/fleet/prometheus3.py
.PHONY: check-fleet check-prometheus
