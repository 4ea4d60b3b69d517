# SPDX-License-Identifier: GPL-2.0-or-later
# Packages. The Debian package holds the static binary: one for every release and kernel.

DEB_UNITS := $(O)/deb/waitscope.service $(O)/deb/waitscope-metrics.service
$(DEB_UNITS): $(O)/deb/%: packaging/%.in
	@mkdir -p $(@D)
	$(Q)sed 's|@SBINDIR@|/usr/sbin|' $< > $@

DEB = $(O)/waitscope_$(VERSION)_$(ARCH).deb
deb: static words $(DEB_UNITS) ## a Debian package: $(O)/waitscope_VERSION_ARCH.deb [ARCH=arm64]
	$(Q)cp $(MAN) $(O)/deb/ && mkdir -p $(O)/deb/completions && cp $(COMPLETIONS) $(O)/deb/completions/
	$(Q)packaging/mkdeb.sh $(STATIC_BIN) $(ARCH) $(VERSION) $(O)/deb $(O)

check-deb: deb ## install, run and remove the package in Debian 12 and 13 (as root; debootstrap)
	$(Q)tests/deb/check.sh $(DEB) bookworm trixie

# An image of it, made without a daemon: a layout in a directory, and as one file.
IMAGE = $(O)/image/waitscope_$(VERSION)_$(ARCH).oci
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || echo 0))
image: static ## an OCI image: $(O)/image/waitscope_VERSION_ARCH.oci.tar [ARCH=arm64]
	@mkdir -p $(O)/image
	$(Q)packaging/mkimage.py $(STATIC_BIN) $(ARCH) $(VERSION) $(EPOCH) $(IMAGE)

check-image: image ## the image's root with the capabilities of packaging/kubernetes, and no others (as root)
	$(Q)python3 tests/image/check.py $(STATIC_BIN) $(IMAGE) $(EPOCH)

.PHONY: deb check-deb image check-image
