/* Methods that filters share, and looking up rows by name. */
#ifndef LITHE_LANG_JINJA_METHODS_H
#define LITHE_LANG_JINJA_METHODS_H

#include "lang/jinja_run.h"

static inline const builtin *jinja_find_builtin(const builtin *rows, size_t n, const str *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_equals(name, rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* `self` is a string. */
builtin_fn jinja_str_upper, jinja_str_lower, jinja_str_capitalize, jinja_str_strip, jinja_str_center, jinja_str_islower,
    jinja_str_isupper;
builtin_fn jinja_str_find, jinja_str_rfind, jinja_str_index, jinja_str_rindex, jinja_str_count, jinja_str_startswith,
    jinja_str_endswith, jinja_str_removeprefix, jinja_str_removesuffix, jinja_str_replace, jinja_str_split,
    jinja_str_rsplit, jinja_str_splitlines, jinja_str_partition, jinja_str_rpartition, jinja_str_join;
/* What they share: an argument that is not None; a str, else a TypeError; a piece of self; the start of the character before at. */
bool jinja_given(value v);
bool jinja_want_str(jinja_run *r, value v, const str **out);
bool jinja_str_part(jinja_run *r, value self, const char *s, size_t n, value *out);
size_t jinja_previous(const char *s, size_t at);
/* At most `times` replacements, all if negative. */
bool jinja_replace_text(jinja_run *r, const str *s, const str *old, const str *new, int64_t times, value *out);
bool jinja_split_lines(jinja_run *r, value self, bool keep_ends, list *out);

/* Shared by the tables of filters. */
bool jinja_filter_missing(const value *a, size_t i); /* argument i was not given, or None */

#endif
