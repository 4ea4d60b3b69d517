// SPDX-License-Identifier: GPL-2.0-or-later
/* A name on its way into JSON: one line that a parser takes, without what a terminal obeys or a
 * reader does not see; and the parser gets the name back, json-c's as ours. */
#include "fuzz.h"

#include <json-c/json_tokener.h>

#include "core/json.h"
#include "core/text.h"
#include "sink/json_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *clean = malloc(3 * size + 1);
	struct json_object *record, *back, *found;
	struct json_build b = {0};
	struct out out = {.fd = -1};
	struct arena memory = {0};
	const struct json *tree;
	struct err e = {0};
	uint32_t code;
	size_t i;

	MUST(clean);
	text_utf8(clean, 3 * size + 1, text, SIZE_MAX);
	record = json_new_record(&b, "fuzz");
	json_add_text(&b, record, "text", text);
	json_finish(&b, record, &out);
	MUST(!out.error && out.len && out.buf[out.len - 1] == '\n');
	out.buf[out.len - 1] = '\0'; /* the line's end, and no other */
	MUST(strlen(out.buf) == out.len - 1);
	MUST(fuzz_utf8_valid(out.buf));
	for (i = 0; i < out.len - 1; i++)
		MUST(!text_unseen(out.buf + i, &code));
	fuzz_must_show(out.buf);
	back = json_tokener_parse(out.buf);
	MUST(back && json_object_object_get_ex(back, "text", &found));
	MUST(!strcmp(json_object_get_string(found), clean));
	json_object_put(back);
	MUST(!json_read(&tree, out.buf, out.len - 1, &memory, &e));
	MUST(!strcmp(json_member(tree, "text")->text, clean));
	arena_free(&memory);
	free(out.buf);
	free(clean);
	free(text);
	return 0;
}
