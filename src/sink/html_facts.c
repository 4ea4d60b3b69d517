// SPDX-License-Identifier: GPL-2.0-or-later
/* What ran where, what was lost, and what it cost. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

static void fact(struct out *out, const char *name, const char *value)
{
	if (!value)
		return;
	out_printf(out, "<dt>%s</dt><dd>", name);
	html_text(out, value);
	out_text(out, "</dd>\n");
}

static void machine(struct out *out, const struct meta_machine *m)
{
	fact(out, "Processor", m->cpu);
	fact(out, "Frequency governor", m->governor);
	if (m->mitigations && *m->mitigations) {
		out_text(out, "<dt>Mitigations asked for</dt><dd>");
		for (size_t i = 0; m->mitigations[i]; i++) {
			out_text(out, i ? " " : "");
			html_text(out, m->mitigations[i]);
		}
		out_text(out, "</dd>\n");
	}
	if (!m->nvulnerabilities)
		return;
	out_text(out, "<dt>Vulnerabilities</dt><dd><details><summary>what the kernel says of "
		      "them</summary><ul>\n");
	for (size_t i = 0; i < m->nvulnerabilities; i++) {
		out_text(out, "<li>");
		html_text(out, m->vulnerabilities[i].key);
		out_text(out, ": ");
		html_text(out, m->vulnerabilities[i].value);
		out_text(out, "</li>\n");
	}
	out_text(out, "</ul></details></dd>\n");
}

static void sources(struct out *out, const struct meta *m)
{
	out_text(out, "<dt>Sources</dt><dd>");
	for (size_t i = 0; i < m->nsources; i++) {
		const struct meta_source *s = &m->sources[i];

		out_text(out, i ? "; " : "");
		html_text(out, s->name);
		if (!s->on) {
			out_text(out, " (off: ");
			html_text(out, s->why ? s->why : "not asked for");
			out_text(out, ")");
		}
		for (size_t k = 0; s->on && s->lacks && s->lacks[k]; k++) {
			out_text(out, k ? "; " : " (without ");
			html_text(out, s->lacks[k]);
			out_text(out, s->lacks[k + 1] ? "" : ")");
		}
	}
	out_text(out, "</dd>\n");
}

void html_facts(struct out *out, const struct meta *m)
{
	char start[64], number[24];

	out_text(out, "<dt>Command line</dt><dd id=command>");
	for (size_t i = 0; m->argv[i]; i++) {
		out_text(out, i ? " <code>" : "<code>");
		html_text(out, m->argv[i]);
		out_text(out, "</code>");
	}
	out_text(out, "</dd>\n");
	format_rfc3339(start, sizeof(start), m->start.tv_sec, (uint32_t)m->start.tv_nsec);
	start[19] = 'Z'; /* without its fraction */
	start[20] = '\0';
	fact(out, "Started", start);
	fact(out, "Kernel", m->kernel);
	(void)snprintf(number, sizeof(number), "%" PRIu32, m->cpus); /* fits */
	fact(out, "CPUs", number);
	if (m->machine)
		machine(out, m->machine);
	sources(out, m);
	out_text(out, m->nfilters ? "<dt>Filters</dt><dd>" : "");
	for (size_t i = 0; i < m->nfilters; i++) {
		out_text(out, i ? ", --" : "--");
		html_text(out, m->filters[i].key);
		out_text(out, " ");
		html_text(out, m->filters[i].value);
	}
	out_text(out, m->nfilters ? "</dd>\n" : "");
	if (m->options)
		fact(out, "Groups", m->options->by);
	if (m->hidden)
		fact(out, "Addresses of the kernel", "hidden: pseudonyms stand for them");
	fact(out, "waitscope", m->version);
}

/* ---- quality and cost ---- */

/* Name, value, and what it is. */
static void number_rows(struct out *out, const char *of, const struct field_table *t,
			const void *from)
{
	char text[FIELD_TEXT_BYTES];

	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->v[i];
		const char *v = field_text(f, from, text);

		out_printf(out,
			   "<tr><th scope=row data-f=\"%s.%s\">%s</th><td data-v=%s>%s</td>"
			   "<td class=\"t w\">%s%s.</td></tr>\n",
			   of, f->key, f->key, v,
			   f->type == FIELD_U64 ? word_count(field_u64(f, from)).s : v,
			   f->loss ? "A loss. " : "", f->help);
	}
}

static void begin_numbers(struct out *out, const char *of, const char *caption, const char *column)
{
	html_table(out, of, caption);
	out_printf(out,
		   "<th scope=col>%s</th><th scope=col>value</th>"
		   "<th scope=col class=t>what it is</th>",
		   column);
	html_table_body(out);
}

static void put_losses(struct out *out, const struct quality *q)
{
	const char *between = " ";

	out_text(out, "<strong class=bad>Not complete:</strong>");
	for (size_t i = 0; i < quality_fields.n; i++) {
		uint64_t n = field_u64(&quality_fields.v[i], q);

		if (!quality_fields.v[i].loss || !n)
			continue;
		out_printf(out, "%s%s %s", between, quality_fields.v[i].key, word_count(n).s);
		between = ", ";
	}
	out_text(out, ".");
}

void html_quality(struct out *out, const struct frame *f)
{
	const struct quality *q = &f->quality;
	char comm[sizeof(q->longest_comm) + 1] = {0};

	out_text(out, "<h2 id=quality>Quality and cost</h2>\n<p>");
	if (quality_complete(q))
		out_text(out, "Complete: nothing was lost.");
	else
		put_losses(out, q);
	if (q->in_flight) {
		memcpy(comm, q->longest_comm, sizeof(q->longest_comm));
		out_printf(out, " Still waiting at the end: %s, longest ",
			   word_count(q->in_flight).s);
		html_text(out, comm);
		out_printf(out, " (%" PRIu32 "), for %s.", q->longest_tid,
			   word_duration(q->longest_ns).s);
	}
	out_text(out, "</p>\n");
	begin_numbers(out, "quality", "What was lost, and the edges of the run", "counter");
	number_rows(out, "quality", &quality_edge_fields, q);
	number_rows(out, "quality", &quality_fields, q);
	html_table_end(out);
	if (!f->self.bpf_known)
		return;
	begin_numbers(out, "self", "What measuring cost", "cost");
	number_rows(out, "self", &self_fields, &f->self);
	html_table_end(out);
}
