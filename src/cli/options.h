/* Command lines as tables: a row says how an option is written, what it takes, where the value goes and what help says about it. */
#ifndef LITHE_CLI_OPTIONS_H
#define LITHE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
    OPTION_FLAG, /* bool, set to true */
    OPTION_TEXT, /* const char *, borrowed from argv */
    OPTION_U32,
    OPTION_U64,
    OPTION_I32,
    OPTION_F32,
    OPTION_CHOICE /* int: index into the row's choices */
} option_kind;

typedef struct option {
    const char *name; /* after the two dashes */
    char letter;      /* after one dash; 0: none */
    option_kind kind;
    size_t offset;              /* of the value in the group's struct */
    double min, max;            /* of numbers, both allowed; max 0: only what the type can hold */
    uint32_t set;               /* bits put into the group's `set` when the option is given */
    const char *const *choices; /* OPTION_CHOICE, ends with NULL */
    const char *value;          /* how help names the value: "N" */
    const char *help;
} option;

/* Rows that fill one struct. A command line takes several groups. */
typedef struct option_group {
    const char *title;
    const option *rows;
    size_t n_rows;
    void *values;
    uint32_t *set; /* may be NULL */
} option_group;

#define OPTION_GROUP(title, rows, values, set)                                                                         \
    {                                                                                                                  \
        title, rows, sizeof(rows) / sizeof *(rows), values, set                                                        \
    }

enum { OPTION_MAX_GROUPS = 4 };

typedef struct command_line {
    const char *usage; /* "lithe run MODEL.litertlm [options]" */
    const char *about; /* paragraphs below the usage line */
    size_t min_arguments, max_arguments;
    option_group groups[OPTION_MAX_GROUPS];
    size_t n_groups;
    const char **arguments; /* what is no option, in order; borrowed from argv, whose array is reused */
    size_t n_arguments;
} command_line;

typedef enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_WRONG } options_result;

/* Reads argv[1 ..]; options and arguments may be mixed, "--" ends the options, "-" alone is an argument. OPTIONS_HELP: --help was
 * asked for and has been printed. OPTIONS_WRONG: the mistake has been reported on stderr. */
options_result options_parse(command_line *line, int argc, char **argv);

#endif
