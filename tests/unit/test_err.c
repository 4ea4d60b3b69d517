/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "core/err.h"
#include "unit.h"

static void words(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, EXIT_CANNOT, -ENOTSUP, "%s: needs %d", "BTF", 5), -ENOTSUP);
	assert_string_equal(e.text, "BTF: needs 5");
	assert_int_equal(err_exit(&e), EXIT_CANNOT);
}

static void first_words_stay(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, EXIT_USAGE, -EINVAL, "near the cause"), -EINVAL);
	assert_int_equal(err_set(&e, EXIT_FAILED, -EIO, "far from it"), -EIO);
	assert_int_equal(err_sys(&e, -ENOENT, "further"), -ENOENT);
	assert_string_equal(e.text, "near the cause");
	assert_int_equal(err_exit(&e), EXIT_USAGE);
}

static void system_error(void **state)
{
	struct err e = {0};

	assert_int_equal(err_sys(&e, -ENOENT, "'%s'", "/x"), -ENOENT);
	assert_string_equal(e.text, "'/x': No such file or directory");
	assert_int_equal(err_exit(&e), EXIT_FAILED);
}

static void nowhere_to_write(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(NULL, EXIT_USAGE, -EINVAL, "x"), -EINVAL);
	assert_int_equal(err_sys(NULL, -ENOENT, "x"), -ENOENT);
	assert_string_equal(err_words(-ENOENT), strerror(ENOENT));
	assert_string_equal(err_words(-524), "not supported by this kernel"); /* ENOTSUPP */
	assert_int_equal(err_exit(NULL), EXIT_FAILED);
	assert_int_equal(err_exit(&e), EXIT_FAILED); /* failed without words */
}

static void too_long(void **state)
{
	char text[2 * ERR_TEXT_LEN];
	struct err e = {0};

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(err_sys(&e, -ENOENT, "%s", text), -ENOENT);
	assert_int_equal(strlen(e.text), ERR_TEXT_LEN - 1);
	e.text[0] = '\0';
	assert_int_equal(err_set(&e, EXIT_USAGE, -EINVAL, "%s", text), -EINVAL);
	assert_int_equal(strlen(e.text), ERR_TEXT_LEN - 1);
}

/* Whatever a path or a name has in it, it is one line of what a terminal shows. */
static void foreign_words(void **state)
{
	struct err e = {0};

	(void)err_sys(&e, -ENOENT, "'%s'", "a\033[2Jb\nc\xe2\x80\xae");
	assert_string_equal(e.text, "'a\\x1b[2Jb\\x0ac\xef\xbf\xbd': No such file or directory");
	e.text[0] = '\0';
	(void)err_set(&e, EXIT_USAGE, -EINVAL, "--cgroup '%s'", "\r\x9b");
	assert_string_equal(e.text, "--cgroup '\\x0d\xef\xbf\xbd'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),	 cmocka_unit_test(first_words_stay),
		cmocka_unit_test(system_error),	 cmocka_unit_test(too_long),
		cmocka_unit_test(foreign_words), cmocka_unit_test(nowhere_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
