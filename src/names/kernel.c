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
