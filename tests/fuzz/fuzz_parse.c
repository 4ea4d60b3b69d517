// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of options: a byte chooses the parser, the rest is its text. */
#include "fuzz.h"

#include <inttypes.h>

#include "core/text.h"

/* A failure has words and is the user's mistake; a success has no words. */
static int told(int ret, const struct err *e)
{
	MUST(ret <= 0);
	if (ret)
		MUST(e->text[0] && e->exit == EXIT_USAGE && strlen(e->text) < sizeof(e->text));
	else
		MUST(!e->text[0]);
	return ret;
}

static void numbers(const char *text)
{
	struct err e = {0}, again = {0};
	char printed[32];
	uint64_t v = 0, w = 0;
	uint32_t u = 0;

	if (!told(parse_u64(text, 0, UINT64_MAX, "--n", &v, &e), &e)) {
		(void)snprintf(printed, sizeof(printed), "%" PRIu64, v);
		MUST(!parse_u64(printed, v, v, "--n", &w, &again) && v == w);
	}
	memset(&e, 0, sizeof(e));
	if (!told(parse_u32(text, 3, 1000, "--n", &u, &e), &e))
		MUST(u >= 3 && u <= 1000);
}

static void times(const char *text)
{
	struct err e = {0};
	uint64_t ns = 0, bare = 0;

	if (told(parse_time_ns(text, 1000000000ULL, "--interval", &ns, &e), &e))
		return;
	/* A bare number is in the unit asked for, smaller here (and 1.5 ns is none). */
	memset(&e, 0, sizeof(e));
	if (!told(parse_time_ns(text, 1, "--interval", &bare, &e), &e))
		MUST(bare <= ns);
}

static void lists(const char *text)
{
	struct u32_list ids = {0};
	struct cpu_set cpus = {0};
	struct err e = {0};

	if (!told(parse_u32_list(text, "--pid", &ids, &e), &e))
		MUST(ids.n > 0);
	free(ids.v);
	memset(&e, 0, sizeof(e));
	if (!told(parse_cpu_list(text, "--cpu", &cpus, &e), &e)) {
		MUST(cpus.nbits > 0);
		MUST(cpu_set_has(&cpus, cpus.nbits - 1) || cpus.nbits % 64 == 0);
		MUST(!cpu_set_has(&cpus, cpus.nbits));
	}
}

static void quantiles(const char *text)
{
	struct quantile *q = NULL;
	struct err e = {0};
	size_t n = 0;

	if (!told(parse_quantiles(text, "--percentiles", &q, &n, &e), &e)) {
		MUST(n > 0);
		for (size_t i = 0; i < n; i++) {
			MUST(q[i].ppb > 0 && q[i].ppb < 1000000000ULL);
			MUST(!i || q[i - 1].ppb < q[i].ppb);
			MUST(memchr(q[i].text, '\0', sizeof(q[i].text)));
		}
	}
	free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *) = {numbers, times, lists, quantiles};
	char *text;

	if (!size)
		return 0;
	text = fuzz_string(data + 1, size - 1);
	parsers[data[0] % 4](text);
	free(text);
	return 0;
}
