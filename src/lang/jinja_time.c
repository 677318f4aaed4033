/* strftime_now: Python's strftime in the C locale, for the given moment. */
#include "lang/jinja_run.h"

#include <time.h>

typedef struct moment {
    int64_t year;
    int month, day, hour, minute, second, weekday, yearday; /* month 1 .. 12, weekday 0 is Sunday, yearday from 0 */
} moment;

/* Days since 1970 to the civil date: years are counted from March, so that a leap day ends one. */
static moment civil(int64_t seconds)
{
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100),
            month = (5 * of_year + 2) / 153;
    moment m = {
        .year = year_of_era + era * 400 + (month >= 10),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
        .hour = (int)(rest / 3600),
        .minute = (int)(rest / 60 % 60),
        .second = (int)(rest % 60),
        .weekday = (int)(((days + 4) % 7 + 7) % 7),
    };
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool leap = (m.year % 4 == 0 && m.year % 100 != 0) || m.year % 400 == 0;
    m.yearday = before[m.month - 1] + m.day - 1 + (leap && m.month > 2);
    return m;
}

static const char *const weekdays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

static bool number_of(const moment *m, char letter, int64_t *out)
{
    const struct {
        char letter;
        int64_t v;
    } rows[] = {{'d', m->day},
                {'e', m->day},
                {'m', m->month},
                {'H', m->hour},
                {'k', m->hour},
                {'I', (m->hour + 11) % 12 + 1},
                {'l', (m->hour + 11) % 12 + 1},
                {'M', m->minute},
                {'S', m->second},
                {'j', m->yearday + 1},
                {'y', m->year % 100},
                {'C', m->year / 100},
                {'Y', m->year},
                {'u', m->weekday ? m->weekday : 7},
                {'w', m->weekday},
                {'U', (m->yearday + 7 - m->weekday) / 7},
                {'W', (m->yearday + 7 - (m->weekday + 6) % 7) / 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].letter == letter) {
            *out = rows[i].v;
            return true;
        }
    }
    return false;
}

static void expand(const moment *m, int64_t now, const char *format, size_t n, buffer *out);

static bool put_number(const moment *m, char letter, char flag, buffer *out)
{
    int64_t v;
    if (!number_of(m, letter, &v)) {
        return false;
    }
    int width = letter == 'j' ? 3 : letter == 'Y' ? 1 : letter == 'u' || letter == 'w' ? 1 : 2;
    char fill = flag ? flag : letter == 'e' || letter == 'k' || letter == 'l' ? '_' : '0';
    if (fill == '-') {
        width = 1;
    }
    buffer_printf(out, fill == '0' ? "%0*lld" : "%*lld", width, (long long)v);
    return true;
}

static bool put_name(const moment *m, char letter, buffer *out)
{
    const char *day = weekdays[m->weekday], *month = months[m->month - 1];
    switch (letter) {
    case 'A':
        buffer_string(out, day);
        return true;
    case 'a':
        buffer_append(out, day, 3);
        return true;
    case 'B':
        buffer_string(out, month);
        return true;
    case 'b':
    case 'h':
        buffer_append(out, month, 3);
        return true;
    case 'p':
        buffer_string(out, m->hour < 12 ? "AM" : "PM");
        return true;
    case 'P':
        buffer_string(out, m->hour < 12 ? "am" : "pm");
        return true;
    case 'f':
        buffer_string(out, "000000");
        return true;
    case 'Z':
    case 'z':
        return true; /* a time without a zone */
    default:
        return false;
    }
}

/* Letters that stand for others. */
static const char *compound(char letter)
{
    static const struct {
        char letter;
        const char *format;
    } rows[] = {{'c', "%a %b %e %H:%M:%S %Y"},
                {'x', "%m/%d/%y"},
                {'D', "%m/%d/%y"},
                {'X', "%H:%M:%S"},
                {'T', "%H:%M:%S"},
                {'F', "%Y-%m-%d"},
                {'R', "%H:%M"},
                {'r', "%I:%M:%S %p"},
                {'n', "\n"},
                {'t', "\t"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].letter == letter) {
            return rows[i].format;
        }
    }
    return NULL;
}

static void expand(const moment *m, int64_t now, const char *format, size_t n, buffer *out)
{
    for (size_t i = 0; i < n; i++) {
        if (format[i] != '%' || i + 1 == n) {
            buffer_append(out, format + i, 1);
            continue;
        }
        size_t from = i++;
        char flag = (format[i] == '-' || format[i] == '_' || format[i] == '0') && i + 1 < n ? format[i++] : 0;
        const char *longer = compound(format[i]);
        if (format[i] == '%') {
            buffer_string(out, "%");
        } else if (longer) {
            expand(m, now, longer, strlen(longer), out);
        } else if (format[i] == 's') {
            buffer_printf(out, "%lld", (long long)now);
        } else if (!put_number(m, format[i], flag, out) && !put_name(m, format[i], out)) {
            buffer_append(out, format + from, i - from + 1);
        }
    }
}

bool jinja_strftime(jinja_run *r, const str *format, value *out)
{
    int64_t now = r->options.now ? *r->options.now : (int64_t)time(NULL), local;
    if (now < -INT64_C(62000000000) || now > INT64_C(253000000000)) {
        return jinja_raise(r, JINJA_VALUE_ERROR, "the time is out of range");
    }
    local = now + r->options.utc_offset;
    moment m = civil(local);
    buffer b;
    buffer_init(&b);
    expand(&m, now, format->data, format->size, &b);
    return jinja_finish(r, true, &b, out);
}
