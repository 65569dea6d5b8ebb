/* RFC 9562 text form: byte i stands at digit position text_at[i]; dashes fill the gaps. */
#include "base/uuid.h"

static const unsigned char text_at[UUID_SIZE] = {0,  2,  4,  6,  9,  11, 14, 16,
                                                 19, 21, 24, 26, 28, 30, 32, 34};

void uuid_format_v4(const uint8_t random[UUID_SIZE], char ret[UUID_TEXT_LEN + 1])
{
    static const char hex[] = "0123456789abcdef";
    memset(ret, '-', UUID_TEXT_LEN);
    ret[UUID_TEXT_LEN] = '\0';
    for (size_t i = 0; i < UUID_SIZE; i++) {
        uint8_t byte = random[i];
        if (i == 6)
            byte = (uint8_t)((byte & 0x0f) | 0x40); /* version */
        else if (i == 8)
            byte = (uint8_t)((byte & 0x3f) | 0x80); /* variant */
        ret[text_at[i]] = hex[byte >> 4];
        ret[text_at[i] + 1] = hex[byte & 15];
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool uuid_parse(str s, uint8_t ret[UUID_SIZE])
{
    if (s.len != UUID_TEXT_LEN)
        return false;
    for (size_t at = 8; at <= 23; at += 5) {
        if (s.p[at] != '-')
            return false;
    }
    for (size_t i = 0; i < UUID_SIZE; i++) {
        int high = hex_value(s.p[text_at[i]]), low = hex_value(s.p[text_at[i] + 1]);
        if (high < 0 || low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool uuid_is_valid(str s)
{
    uint8_t bytes[UUID_SIZE];
    return uuid_parse(s, bytes);
}
