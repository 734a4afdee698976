/* Manual pages in roff. */
#include "cli/roff.h"

#include <ctype.h>
#include <stdio.h>

#include <claret/claret.h>

/* Text in roff: no macro at a line's start, '-' as it is typed. */
void cli_roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else if (*text == '~')
            fputs("\\(ti", stdout);
        else if (*text == '^')
            fputs("\\(ha", stdout);
        else if (*text == '`')
            fputs("\\(ga", stdout);
        else
            putchar(*text);
    }
}

void cli_roff_line(const char *before, const char *text, const char *after)
{
    fputs(before, stdout);
    cli_roff(text);
    puts(after);
}

void cli_roff_paragraph(const char *text)
{
    puts(".PP");
    cli_roff_line("", text, "");
}

void cli_roff_entry(const char *name, const char *text)
{
    puts(".TP");
    cli_roff_line("\\fB", name, "\\fR");
    cli_roff_line("", text, "");
}

void cli_roff_head(const char *name, const char *summary)
{
    puts(".\\\" Made from the command's flag table.");
    fputs(".TH ", stdout);
    for (const char *letter = name; *letter; letter++)
        fputs(*letter == '-' ? "\\-" : (char[]){(char)toupper((unsigned char)*letter), '\0'}, stdout);
    printf(" 1 \"\" \"claret %s\" \"claret\"\n.SH NAME\n", claret_version());
    cli_roff_line("", name, " \\-");
    cli_roff_line("", summary, "");
}

void cli_roff_flag(char letter, const char *name, const char *argument, const char *help, const char *value)
{
    puts(".TP");
    if (letter)
        printf("\\fB\\-%c\\fR, ", letter);
    cli_roff_line("\\fB\\-\\-", name, argument ? "\\fR \\c" : "\\fR");
    if (argument)
        cli_roff_line("\\fI", argument, "\\fR");
    cli_roff_line("", help, value ? "" : ".");
    if (value)
        cli_roff_line("(default: ", value, ").");
}

void cli_roff_exit_status(bool signals)
{
    puts(".SH EXIT STATUS");
    cli_roff_entry("0", "done");
    cli_roff_entry("1", "data, files, network text, memory, driver or numbers are wrong");
    cli_roff_entry("2", "wrong usage, or an unknown or ambiguous device");
    cli_roff_entry("3", "no usable device");
    if (signals)
        cli_roff_entry("130, 143", "as a shell shows it: interrupted by SIGINT or SIGTERM, weights saved");
}

void cli_roff_environment(bool device)
{
    puts(".SH ENVIRONMENT");
    if (device) {
        cli_roff_entry("CLARET_DEVICE", "what --device is when it is not given");
        cli_roff_entry("XDG_CACHE_HOME",
                       "compiled programs and tuning records are kept in its folder claret; in "
                       "~/.cache/claret when it is unset or cannot be written");
    }
    cli_roff_entry("NO_COLOR", "when set and not empty: no colours");
    cli_roff_paragraph("The OpenCL loader and drivers have variables of their own, such as OCL_ICD_VENDORS, "
                       "RUSTICL_ENABLE and POCL_DEVICES.");
}
