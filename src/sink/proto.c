// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/proto.h"

#include <string.h>

#include "core/packed.h"

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };

static void put_varint(struct out *o, uint64_t v)
{
	uint8_t bytes[PACKED_U64_BYTES];

	out_put(o, (const char *)bytes, (size_t)(packed_put_number(bytes, v) - bytes));
}

static void put_tag(struct out *o, uint32_t field, enum wire wire)
{
	put_varint(o, (uint64_t)field << 3 | wire);
}

void proto_u64(struct out *o, uint32_t field, uint64_t v)
{
	put_tag(o, field, WIRE_VARINT);
	put_varint(o, v);
}

/* Small numbers of either sign are short: 0, -1, 1, -2 become 0, 1, 2, 3. */
void proto_packed_sint(struct out *o, int64_t v)
{
	put_varint(o, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void proto_sint(struct out *o, uint32_t field, int64_t v)
{
	put_tag(o, field, WIRE_VARINT);
	proto_packed_sint(o, v);
}

void proto_fixed64(struct out *o, uint32_t field, uint64_t v)
{
	char bytes[sizeof(v)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(v >> 8 * i);
	put_tag(o, field, WIRE_FIXED64);
	out_put(o, bytes, sizeof(bytes));
}

void proto_double(struct out *o, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	proto_fixed64(o, field, bits);
}

void proto_text(struct out *o, uint32_t field, const char *text)
{
	size_t len = strlen(text);

	put_tag(o, field, WIRE_BYTES);
	put_varint(o, len);
	out_put(o, text, len);
}

size_t proto_begin(struct out *o, uint32_t field)
{
	if (field)
		put_tag(o, field, WIRE_BYTES);
	return o->len;
}

/* How long it is stands before it, and is known only now. */
void proto_end(struct out *o, size_t begun)
{
	uint8_t bytes[PACKED_U64_BYTES];
	size_t len = o->len - begun, n = (size_t)(packed_put_number(bytes, len) - bytes);

	out_put(o, (const char *)bytes, n); /* room */
	if (o->error)
		return;
	memmove(o->buf + begun + n, o->buf + begun, len);
	memcpy(o->buf + begun, bytes, n);
}

void proto_pair(struct out *o, uint32_t field, uint64_t first, uint64_t second)
{
	size_t at = proto_begin(o, field);

	proto_u64(o, 1, first);
	proto_u64(o, 2, second);
	proto_end(o, at);
}
