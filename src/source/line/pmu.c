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
