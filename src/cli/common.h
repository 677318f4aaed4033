/* What the commands that open a model share: its options, and opening it. */
#ifndef LITHE_CLI_COMMON_H
#define LITHE_CLI_COMMON_H

#include "cli/options.h"
#include "cli/output.h"

/* The commands: argv[0] is the command's name. Each returns the process's exit code. */
int cmd_run(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_tokenize(int argc, char **argv);
int cmd_debug(int argc, char **argv);
int cmd_debug_jinja(int argc, char **argv);
int cmd_debug_score(int argc, char **argv);

typedef struct common_options {
    uint32_t threads, context; /* 0: not given */
    uint64_t memory_limit_mb;
    const char *cpu;
    int plan; /* enum lithe_plan_kind */
    const char *without;
    bool no_fusion, check_numerics, quiet, help;
    int log; /* enum lithe_log_level */
} common_options;

/* MB are 2^20 bytes everywhere in the command. */
#define BYTES_PER_MB 1048576.0

void common_options_init(common_options *o);
/* The options of a model that runs, and those about messages alone. */
option_group common_model_group(common_options *o);
option_group common_message_group(common_options *o);

/* Sends messages where the options say. */
void common_apply_log(const common_options *o);
/* Limits the CPU and opens the model; common_apply_log has been called. */
lithe_status common_open(const common_options *o, const char *path, lithe_model **model, lithe_error *err);

#endif
