// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "names/internal.h"

struct names_kernel {
	bool debuginfod;
};

int names_kernel_open(struct names_kernel **out, const struct names_args *args, struct err *e)
{
	struct names_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return err_sys(e, -ENOMEM, "names");
	*out = k;
	return 0;
}

void names_kernel_close(struct names_kernel *k)
{
	free(k);
}

void names_kernel_data(struct names *n, uint64_t addr, const struct kernel_hint *hint,
		       struct name *out)
{
	name_bare(out, addr);
}

void names_kernel_code(struct names *n, uint64_t ip, struct name *out)
{
	name_bare(out, ip);
}

bool names_is_lock_code(struct names *n, uint64_t ip)
{
	return false;
}

size_t names_members_on_line(struct names *n, const char *type, uint64_t object, uint64_t addr,
			     struct name_member *out, size_t cap)
{
	return 0;
}
