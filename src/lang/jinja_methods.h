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
/* At most `times` replacements, all if negative. */
bool jinja_replace_text(jinja_run *r, const str *s, const str *old, const str *new, int64_t times, value *out);
bool jinja_split_lines(jinja_run *r, value self, bool keep_ends, list *out);

/* Shared by the tables of filters. */
bool jinja_filter_missing(const value *a, size_t i); /* argument i was not given, or None */

#endif
