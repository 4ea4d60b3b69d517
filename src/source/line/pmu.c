// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/line/pmu.h"

#define TERMS_LEN 512
#define PATH_LEN 512

/* ---- formats ---- */

static int parse_number(const char **text, unsigned int max, unsigned int *out)
{
	unsigned int v = 0;
	const char *s = *text;

	while (*s >= '0' && *s <= '9') {
		v = v * 10 + (unsigned int)(*s++ - '0');
		if (v > max)
			return -EINVAL;
	}
	if (s == *text)
		return -EINVAL;
	*text = s;
	*out = v;
	return 0;
}

static int parse_range(const char **text, struct pmu_format *f)
{
	unsigned int from, to, bit;
	int ret = parse_number(text, 63, &from);

	if (ret)
		return ret;
	to = from;
	if (**text == '-') {
		++*text;
		ret = parse_number(text, 63, &to);
	}
	if (ret || to < from || f->nbits + (to - from) >= 64)
		return -EINVAL;
	for (bit = from; bit <= to; bit++)
		f->bit[f->nbits++] = (uint8_t)bit;
	return 0;
}

int pmu_format_parse(const char *text, struct pmu_format *f)
{
	int ret;

	memset(f, 0, sizeof(*f));
	if (strncmp(text, "config", 6))
		return -EINVAL;
	text += 6;
	if (*text >= '1' && *text <= '3')
		f->word = (uint8_t)(*text++ - '0');
	if (*text++ != ':')
		return -EINVAL;
	do {
		ret = parse_range(&text, f);
		if (ret)
			return ret;
	} while (*text++ == ',');
	return text[-1] == '\0' ? 0 : -EINVAL;
}

/* ---- sysfs ---- */

/* First line of a file, without its newline; -ENOENT, -EIO ..., -E2BIG. */
static int read_line(char *out, size_t len, const char *dir, const char *sub, const char *name)
{
	char path[PATH_LEN];
	size_t n;
	FILE *f;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/%s%s", dir, sub, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (!fgets(out, (int)len, f))
		ret = -EIO;
	fclose(f);
	if (ret)
		return ret;
	n = strlen(out);
	if (n && out[n - 1] == '\n')
		out[n - 1] = '\0';
	else if (n + 1 == len)
		return -E2BIG;
	return 0;
}

/* config3 is newer (6.3) than the headers we build with; no event of ours has a term there. */
static int set_config(struct perf_event_attr *attr, unsigned int word, uint64_t bits)
{
	switch (word) {
	case 0:
		attr->config |= bits;
		return 0;
	case 1:
		attr->config1 |= bits;
		return 0;
	case 2:
		attr->config2 |= bits;
		return 0;
	default:
		return -ENOTSUP;
	}
}

/* "config", "config1" ...: a whole word. -ENOENT: another term. */
static int whole_word(const char *name, uint64_t value, struct perf_event_attr *attr)
{
	const char *digit = name + 6;

	if (strncmp(name, "config", 6) || (*digit && (digit[1] || *digit < '1' || *digit > '3')))
		return -ENOENT;
	return set_config(attr, *digit ? (unsigned int)(*digit - '0') : 0, value);
}

static int set_term(const char *dev, const char *name, uint64_t value, struct perf_event_attr *attr)
{
	struct pmu_format f;
	uint64_t bits = 0;
	char text[128];
	unsigned int k;
	int ret = whole_word(name, value, attr);

	if (ret != -ENOENT)
		return ret;
	if (strchr(name, '/'))
		return -EINVAL;
	ret = read_line(text, sizeof(text), dev, "format/", name);
	if (!ret)
		ret = pmu_format_parse(text, &f);
	if (ret)
		return ret;
	if (f.nbits < 64 && value >> f.nbits)
		return -EINVAL;
	for (k = 0; k < f.nbits; k++)
		bits |= (value >> k & 1) << f.bit[k];
	return set_config(attr, f.word, bits);
}

static int one_term(const char *dev, char *term, struct perf_event_attr *attr)
{
	char *value = strchr(term, '='), *end;
	uint64_t v = 1;

	if (value) {
		*value++ = '\0';
		errno = 0;
		v = strtoull(value, &end, 0);
		if (errno || end == value || *end || *value == '-' || *value == '+')
			return -EINVAL;
	}
	return *term ? set_term(dev, term, v, attr) : -EINVAL;
}

int pmu_terms(const char *dev, const char *terms, struct perf_event_attr *attr)
{
	char text[TERMS_LEN], *at = text, *term;
	int ret = 0;

	if (strlen(terms) >= sizeof(text))
		return -EINVAL;
	memcpy(text, terms, strlen(terms) + 1);
	while (!ret && (term = strsep(&at, ",")))
		ret = one_term(dev, term, attr);
	return ret;
}

int pmu_event(const char *devices, const char *name, const char *event, const char *more,
	      struct perf_event_attr *attr)
{
	char dev[PATH_LEN], text[TERMS_LEN], *end;
	unsigned long type;
	int ret;

	if (snprintf(dev, sizeof(dev), "%s/%s", devices, name) >= (int)sizeof(dev))
		return -ENAMETOOLONG;
	ret = read_line(text, sizeof(text), dev, "", "type");
	if (ret)
		return ret;
	errno = 0;
	type = strtoul(text, &end, 10);
	if (errno || end == text || *end || type > UINT32_MAX)
		return -EINVAL;
	attr->type = (uint32_t)type;
	if (event) {
		ret = read_line(text, sizeof(text), dev, "events/", event);
		if (!ret)
			ret = pmu_terms(dev, text, attr);
	}
	return ret || !more ? ret : pmu_terms(dev, more, attr);
}

int pmu_cpus(const char *devices, const char *name, char *text, size_t len)
{
	char dev[PATH_LEN];
	int ret;

	if (snprintf(dev, sizeof(dev), "%s/%s", devices, name) >= (int)sizeof(dev))
		return -ENAMETOOLONG;
	ret = read_line(text, len, dev, "", "cpus");
	return ret ? read_line(text, len, dev, "", "cpumask") : 0;
}

/* ---- which events ---- */

/* Bits of struct perf_sample_data that are not asked for are not filled either. */
#define SAMPLE_TYPE                                                              \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_PHYS_ADDR)

/* 2: the very instruction, which every PEBS can. */
#define PEBS_PRECISE_IP 2

static const char *const intel_devices[] = {"cpu", "cpu_core", "cpu_atom", "cpu_lowpower"};

/*
 * Neither idle nor hypervisor excluded: IBS refuses to exclude anything, the program skips what is
 * idle. freq and wakeup_events keep PEBS from gathering records, of which BPF would see the last
 * task only.
 */
static void attr_init(struct perf_event_attr *attr, uint64_t freq)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_type = SAMPLE_TYPE,
		.freq = 1,
		.sample_freq = freq,
		.wakeup_events = 1,
	};
}

static struct pmu_sampled *next_event(struct pmu_plan *plan, const char *device, const char *event,
				      uint64_t freq)
{
	struct pmu_sampled *s = &plan->v[plan->n];

	memset(s, 0, sizeof(*s));
	s->device = device;
	s->event = event;
	attr_init(&s->attr, freq);
	return s;
}

/* Golden Cove and later refuse loads that are not in a group with this event (ENODATA). */
static int add_leader(const char *devices, struct pmu_sampled *s)
{
	int ret;

	s->leader = (struct perf_event_attr){.size = sizeof(s->leader)};
	ret = pmu_event(devices, s->device, "mem-loads-aux", NULL, &s->leader);
	s->led = !ret;
	return ret == -ENOENT ? 0 : ret;
}

static int add_loads(const char *devices, const char *device, uint64_t freq, struct pmu_plan *plan)
{
	struct pmu_sampled *s = next_event(plan, device, "mem-loads", freq);
	struct perf_event_attr words = {0};
	char more[32];
	int ret;

	/* the event's own ldlat and ours would be or-ed: the event with ours in place of its own */
	(void)snprintf(more, sizeof(more), "ldlat=%d", PMU_LOAD_LATENCY); /* fits */
	ret = pmu_event(devices, device, "mem-loads", NULL, &s->attr);
	if (!ret)
		ret = pmu_event(devices, device, NULL, more, &words);
	if (ret)
		return ret;
	s->attr.config1 = words.config1;
	s->attr.precise_ip = PEBS_PRECISE_IP;
	ret = add_leader(devices, s);
	if (!ret)
		plan->n++;
	return ret;
}

static int add_stores(const char *devices, const char *device, uint64_t freq, struct pmu_plan *plan)
{
	struct pmu_sampled *s = next_event(plan, device, "mem-stores", freq);
	int ret = pmu_event(devices, device, "mem-stores", NULL, &s->attr);

	if (ret)
		return ret;
	s->attr.precise_ip = PEBS_PRECISE_IP;
	plan->n++;
	return 0;
}

/* Both, or what there is: without loads there is nothing to tell of. */
static int add_intel(const char *devices, const char *device, uint64_t freq, struct pmu_plan *plan)
{
	uint32_t first = plan->n, k;
	int ret;

	if (first + 2 > PMU_EVENTS_MAX)
		return -E2BIG;
	ret = add_loads(devices, device, freq, plan);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = add_stores(devices, device, freq, plan);
	if (ret && ret != -ENOENT)
		return ret;
	for (k = first; k < plan->n; k++)
		if (pmu_cpus(devices, device, plan->v[k].cpus, sizeof(plan->v[k].cpus)))
			plan->v[k].cpus[0] = '\0';
	return 0;
}

static int add_amd(const char *devices, uint64_t freq, struct pmu_plan *plan)
{
	struct pmu_sampled *s = next_event(plan, "ibs_op", NULL, freq);
	int ret = pmu_event(devices, "ibs_op", NULL, "cnt_ctl=1", &s->attr);

	if (ret == -ENOENT) /* the first IBS counts cycles only */
		ret = pmu_event(devices, "ibs_op", NULL, NULL, &s->attr);
	if (!ret)
		plan->n++;
	return ret == -ENOENT ? 0 : ret;
}

int pmu_plan(const char *devices, uint64_t freq, struct pmu_plan *plan, struct err *e)
{
	int ret = 0;

	memset(plan, 0, sizeof(*plan));
	plan->sampler = "pebs";
	for (size_t k = 0; !ret && k < sizeof(intel_devices) / sizeof(intel_devices[0]); k++)
		ret = add_intel(devices, intel_devices[k], freq, plan);
	if (!ret && !plan->n) {
		plan->sampler = "ibs";
		ret = add_amd(devices, freq, plan);
	}
	if (ret)
		return err_set(e, EXIT_CANNOT, ret,
			       "line: PMU: the events in '%s' cannot be read: %s", devices,
			       strerror(-ret));
	if (!plan->n)
		return err_set(e, EXIT_CANNOT, -ENOENT,
			       "line: this machine offers no PMU that samples memory accesses "
			       "(neither Intel mem-loads nor AMD ibs_op in '%s')",
			       devices);
	return 0;
}
