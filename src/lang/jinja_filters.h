/* What the tables of filters share. */
#ifndef LITHE_LANG_JINJA_FILTERS_H
#define LITHE_LANG_JINJA_FILTERS_H

#include "lang/jinja_methods.h"

const builtin *jinja_find_sequence_filter(const str *name);

#endif
