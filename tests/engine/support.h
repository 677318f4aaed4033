/* Toys with something changed: other metadata, a section missing, a constant or a name overwritten. */
#ifndef LITHE_TESTS_ENGINE_SUPPORT_H
#define LITHE_TESTS_ENGINE_SUPPORT_H

#include "bundle/bundle.h"
#include "bundle/metadata.h"
#include "bundle/tflite.h"

typedef struct variant {
    bundle *source;
    uint8_t *model; /* a copy of the model section, to be changed in place */
    size_t model_bytes;
    llm_metadata meta;        /* read from the source, to be changed */
    executor_metadata states; /* the same */
    uint32_t drop[2];         /* section types to leave out, 0: none */
    arena memory;
} variant;

void variant_begin(variant *v, const char *toy);
/* Overwrites element 0 of the last rank-1 float constant that decode uses (a norm's weights): all of them if `all`. */
void variant_set_norm(variant *v, float value, bool all);
/* Overwrites the first letters of every name of a state among the inputs and outputs of all signatures. */
void variant_rename_states(variant *v, const char *input_letters, const char *output_letters);
/* Exchanges inputs i and j of a signature with all that belongs to them, and so the order of states. */
void variant_swap_inputs(variant *v, const char *signature, uint32_t i, uint32_t j);
/* Lets an output of a signature be the tensor of one of its inputs. */
void variant_output_is_input(variant *v, const char *signature, const char *output, uint32_t input);
/* Overwrites the last letter of the name of input i of a signature. */
void variant_rename_input(variant *v, const char *signature, uint32_t i, char letter);
/* Writes the bundle and frees everything. The path is static storage, one per `name`. */
const char *variant_end(variant *v, const char *name);

/* A file of these bytes in the tests' folder for temporary files. */
const char *temporary_path(const char *name);
void write_file(const char *path, const void *data, size_t bytes);
uint8_t *read_file(const char *path, size_t *bytes);

#endif
