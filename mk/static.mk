# SPDX-License-Identifier: GPL-2.0-or-later
# One binary without shared libraries, for this machine or another architecture: `make static
# [ARCH=arm64]`. Not debuggable, but the same bytes whatever directory it is built in.

HOST_ARCH := $(subst aarch64,arm64,$(subst x86_64,amd64,$(shell uname -m)))
ARCH ?= $(HOST_ARCH)
STATIC_O = $(O)/static-$(ARCH)
STATIC_BIN = $(STATIC_O)/waitscope.stripped
# Of our own code only what is used, and without tables for unwinding, which C has no use for: it makes room for
# what libraries bring along.
STATIC_CFLAGS := -O2 -DWS_STATIC -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables -ffile-prefix-map=$(CURDIR)=.

ifeq ($(ARCH),$(HOST_ARCH))
STATIC_CC = $(CC)
STATIC_STRIP = strip
STATIC_SHELL =
else
STATIC_TRIPLET := $(subst arm64,aarch64,$(ARCH))-linux-gnu
STATIC_CC = $(STATIC_TRIPLET)-gcc
STATIC_STRIP = $(STATIC_TRIPLET)-strip
# Headers and archives of that architecture, unpacked in the cache.
STATIC_SHELL = sysroot=$$(tests/vm/fetch.sh sysroot $(ARCH)) && \
	export PKG_CONFIG_SYSROOT_DIR=$$sysroot \
	PKG_CONFIG_LIBDIR=$$sysroot/usr/lib/$(STATIC_TRIPLET)/pkgconfig:$$sysroot/usr/share/pkgconfig && \
	$(if $(shell command -v $(STATIC_CC)),,{ echo "missing: $(STATIC_CC) (package gcc-$(subst _,-,$(STATIC_TRIPLET)))" >&2; exit 1; } &&)
endif
ifeq ($(ARCH)$(ZYDIS),amd641)
STATIC_ZYDIS = ZYDIS=1 LDLIBS_ZYDIS="$$(tests/vm/fetch.sh zydis)/libZydis.a"
else
STATIC_ZYDIS = ZYDIS=
endif
# --no-warnings: libevent refers to getaddrinfo, which we never call.
STATIC_MAKE = $(STATIC_SHELL) $(MAKE) O=$(STATIC_O) SAN= CC="$(STATIC_CC)" CFLAGS="$(STATIC_CFLAGS)" \
	PIE=-static-pie LDFLAGS="-Wl,--no-warnings,--gc-sections,-z,pack-relative-relocs" PKG_CONFIG="$(PKG_CONFIG) --static" $(STATIC_ZYDIS)

static: ## one binary without shared libraries: $(O)/static-ARCH/waitscope.stripped
	+$(Q)$(STATIC_MAKE) $(STATIC_O)/waitscope
	$(call say,STRIP,$(STATIC_BIN))
	$(Q)$(STATIC_STRIP) -o $(STATIC_BIN) $(STATIC_O)/waitscope

check-static: static ## no shared libraries, small, hardened, and (not with QUICK=1) the same bytes from another directory
	$(Q)tests/static/check.sh $(STATIC_BIN) $(ARCH) $(if $(QUICK),quick)
	$(Q)tests/static/hardened.sh $(STATIC_O) $(STATIC_BIN)

.PHONY: static check-static
