# Moves every date of an Org text by the days between `anchor` and `today`, and sets its weekday.
#
# A date is YYYY-MM-DD behind < or [, with or without a weekday (timestamps); in a file's own word for a
# day it is followed by a weekday as well (journal headings). Other dates, as in a quotation, stay.
# Plain POSIX awk: the calendar is computed here, because not every awk has one.

function days(y, m, d,    era, yoe, doy) { # days since 1970-01-01
    if (m <= 2) y -= 1
    era = int(y / 400); yoe = y - era * 400
    doy = int((153 * (m + (m > 2 ? -3 : 9)) + 2) / 5) + d - 1
    return era * 146097 + yoe * 365 + int(yoe / 4) - int(yoe / 100) + doy - 719468
}

function date(z,    era, doe, yoe, doy, mp, y, m, d) {
    z += 719468
    era = int(z / 146097); doe = z - era * 146097
    yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
    doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100))
    mp = int((5 * doy + 2) / 153)
    d = doy - int((153 * mp + 2) / 5) + 1
    m = mp + (mp < 10 ? 3 : -9)
    y = yoe + era * 400 + (m <= 2 ? 1 : 0)
    return sprintf("%04d-%02d-%02d", y, m, d)
}

function number(text) { return days(substr(text, 1, 4) + 0, substr(text, 6, 2) + 0, substr(text, 9, 2) + 0) }

BEGIN {
    split("Thu Fri Sat Sun Mon Tue Wed", short, " ")
    split("Thursday Friday Saturday Sunday Monday Tuesday Wednesday", long, " ")
    by = number(today) - number(anchor)
}

/^#\+DEMO_ANCHOR:/ { print "#+DEMO_ANCHOR: " today; next }

{
    rest = $0; line = ""
    while (match(rest, /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]( [A-Z][a-z]+)?/)) {
        found = substr(rest, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
        weekday = RLENGTH > 10 ? substr(found, 12) : ""
        is_day = 0; is_long = 0
        for (i = 1; i <= 7; i++) {
            if (weekday == short[i]) is_day = 1
            if (weekday == long[i]) { is_day = 1; is_long = 1 }
        }
        line = line substr(rest, 1, RSTART - 1)
        if (before == "<" || before == "[" || is_day) {
            day = number(found) + by
            name = ((day % 7) + 7) % 7 + 1
            line = line date(day)
            if (is_day) line = line " " (is_long ? long[name] : short[name])
            else if (weekday != "") line = line " " weekday
        } else line = line found
        rest = substr(rest, RSTART + RLENGTH)
    }
    print line rest
}
