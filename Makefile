# The front door. meson and ninja do the work; this file only knows the order of things.
#
#   make            build build/grove              make check    format, lint, sanitized unit tests
#   make demo       see it work                    make bench    figures
#   make test       every test suite               make fuzz     FUZZ_SECONDS per target
#   make test-fast  unit tests and some scenarios, within a minute
#   make install    PREFIX=/usr/local              make soak     the tests with big case counts
#   make test-kubernetes    against the real control plane (needs Go and kubectl)
#   make test-kubelet       real containers: kubelets, containerd and runc (needs root, Go and kubectl)
#   make test-conformance   Kubernetes' own specs against grove up (needs Go)
#   make static     build-static/grove, one file that needs nothing (install/Dockerfile)
#   make chart      build/chart, for Helm          make deb      build/grove_VERSION_ARCH.deb
#   make sbom       what the program is made of    make test-static   the static program, hardened and reproducible
#
# What is missing on a Debian or Ubuntu machine is installed by `make deps`, which the targets call.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 300
# Case counts: every suite multiplies its own by SCALE.
SCALE ?= 1
# What `make test-kubelet` runs.
KUBELET_TARGETS ?= plane up killed

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet grove

everything: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

$(BUILD)/build.ninja:
	@tools/deps build
	@meson setup --prefix=$(abspath $(PREFIX)) $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

deps:
	@tools/deps build check

# Who waits for the first build sees how far it is.
demo: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -n grove 2>/dev/null | grep -q 'no work to do' || \
	    { echo "building grove (a minute or two the first time)"; NINJA_STATUS="  %p  " ninja -C $(BUILD) $$([ -t 1 ] || echo --quiet) grove | \
	    { [ -t 1 ] && cat || grep -v '^ninja: ' || true; }; }
	@$(BUILD)/grove demo

# What cannot be installed for it is skipped, with the reason.
test: everything
	@tools/deps test || true
	@GROVE_TEST_SCALE=$(SCALE) tests/run $(BUILD)

# The inner loop: within a minute on two cores.
test-fast: everything
	@tests/fast $(BUILD)

# Against etcd, kube-apiserver, kube-controller-manager and helm, built through the Go module proxy.
test-kubernetes: all
	@tests/kubernetes/run $(abspath $(BUILD))
	@tests/kubernetes/upgrade $(abspath $(BUILD))
	@tests/helm/run $(abspath $(BUILD))

# Real containers on Kubernetes' own kubelet (built as above), containerd and runc, in namespaces of their
# own: on the real control plane, on `grove up`, and what is left when a run is killed.
test-kubelet: all static
	@tools/deps kubelet || true
	@set -e; for target in $(KUBELET_TARGETS); do tests/kubernetes/kubelet/run $(BUILD) $$target; done

# Kubernetes' own conformance specs, built through the Go module proxy, against `grove up`.
test-conformance: all
	@tests/conformance/run $(abspath $(BUILD))

check:
	@tools/deps build check
	@tools/check

bench: everything
	@bench/run $(BUILD)

fuzz:
	@tools/deps build check
	@tools/fuzz $(FUZZ_SECONDS)

soak:
	@$(MAKE) test SCALE=50

# The prefix may be another one than at the time of the first build.
install: $(BUILD)/build.ninja
	@meson configure -Dprefix=$(abspath $(PREFIX)) $(BUILD)
	@ninja -C $(BUILD) --quiet installed
	@DESTDIR=$(if $(DESTDIR),$(abspath $(DESTDIR))) meson install -C $(BUILD) --no-rebuild
	@[ -f $(BUILD)/man/grove.1 ] || echo "no man page: scdoc is not installed"

static: build-static/build.ninja
	@ninja -C build-static --quiet grove
	@strip build-static/grove
build-static/build.ninja:
	@tools/deps build
	@meson setup -Dstatic=true --buildtype=release -Db_lto=true build-static >build-static.log 2>&1 || { cat build-static.log; exit 1; }
	@rm -f build-static.log

# Its hardening, and the same bytes from another folder.
test-static: static
	@tests/binary/hardening build-static/grove build-static
	@tests/binary/reproducible build-static/grove

# SPDX 2.3, of the program as built here.
sbom: all
	@tools/sbom $(BUILD)

chart: all
	@$(BUILD)/grove manifests --chart $(BUILD)/chart
	@echo $(BUILD)/chart

deb: $(BUILD)/build.ninja
	@tools/deb $(BUILD)

clean:
	@rm -rf build build-*

.PHONY: all everything deps demo test test-fast test-static sbom test-kubernetes test-kubelet test-conformance check bench fuzz soak install static chart deb clean
