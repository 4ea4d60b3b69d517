# SPDX-License-Identifier: GPL-2.0-or-later
# Many instances on made-up data, and a real Prometheus: a minute and a half, or FLEET_SECONDS.
INSTANCES ?= 40
check-fleet: $(O)/waitscope ## a fleet of instances, scraped by Debian's Prometheus: its quantiles and ours [INSTANCES=40]
	$(Q)O=$(O) python3 tests/fleet/fleet.py $(INSTANCES) $(or $(FLEET_SECONDS),60)
.PHONY: check-fleet
