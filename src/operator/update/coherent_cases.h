/*
 * The worked cases of the proposal for coherent updates, as tables: a row for each sub-step, with
 * what it takes down, what is left of the old anchor, old gangs of single replicas, new anchors,
 * new gangs of single replicas, entries of the map (old+new=all) and units rolled. Of front ends
 * (F, pods) there is a number, of prefill and decode (P, D, replicas of groups) the indices.
 *
 * For tests only: of the arithmetic (test-coherent.c) and of a whole world (sim/test-worked.c).
 */
#ifndef OPERATOR_UPDATE_COHERENT_CASES_H
#define OPERATOR_UPDATE_COHERENT_CASES_H

#include "base/strbuf.h"

/* F 10/2/2 (replicas, minAvailable, maxUnavailable), P 10/3/3, D 20/3/4 */
static const char *const worked_main[] = {
    "2F 3P 3D | {F:8} | P[3-9]; D[3-19] | {F:2, P:[0-2], D:[0-2]} | - | 25+1=26 | 2/3/3",
    "1F 3D | {F:7} | P[3-9]; D[6-19] | {F:3, P:[0-2], D:[0-2]} | D[3-5] | 22+4=26 | 3/3/6",
    "2F 3P 3D | {F:5} | P[6-9]; D[9-19] | {F:3, P:[0-2], D:[0-2]} {F:2, P:[3-5], D:[6-8]} | "
    "D[3-5] | 16+5=21 | 5/6/9",
    "1F 3D | {F:4} | P[6-9]; D[12-19] | {F:3, P:[0-2], D:[0-2]} {F:3, P:[3-5], D:[6-8]} | "
    "D[3-5,9-11] | 13+8=21 | 6/6/12",
    "2F 3P 3D | {F:2} | P[9]; D[15-19] | {F:3, P:[0-2], D:[0-2]} {F:3, P:[3-5], D:[6-8]} "
    "{F:2, P:[6-8], D:[12-14]} | D[3-5,9-11] | 7+9=16 | 8/9/15",
    "1F 3D | {F:1} | P[9]; D[18-19] | {F:3, P:[0-2], D:[0-2]} {F:3, P:[3-5], D:[6-8]} {F:3, "
    "P:[6-8], D:[12-14]} | D[3-5,9-11,15-17] | 4+12=16 | 9/9/18",
    "1F 1P 2D | gone | - | {F:3, P:[0-2], D:[0-2]} {F:3, P:[3-5], D:[6-8]} {F:4, P:[6-8], "
    "D:[12-14]} | P[9]; D[3-5,9-11,15-19] | 0+15=15 | 10/10/20",
};

/* Residual and leftover: F 20/2/2, P 10/3/3, D 20/3/4 */
static const char *const worked_b[] = {
    "2F 3P 3D | {F:18} | P[3-9]; D[3-19] | {F:2, P:[0-2], D:[0-2]} | - | 25+1=26 | 2/3/3",
    "2F 3D | {F:16} | P[3-9]; D[6-19] | {F:4, P:[0-2], D:[0-2]} | D[3-5] | 22+4=26 | 4/3/6",
    "2F | {F:14} | P[3-9]; D[6-19] | {F:6, P:[0-2], D:[0-2]} | D[3-5] | 22+4=26 | 6/3/6",
    "2F 3P 3D | {F:12} | P[6-9]; D[9-19] | {F:6, P:[0-2], D:[0-2]} {F:2, P:[3-5], D:[6-8]} | "
    "D[3-5] | 16+5=21 | 8/6/9",
    "2F 3D | {F:10} | P[6-9]; D[12-19] | {F:6, P:[0-2], D:[0-2]} {F:4, P:[3-5], D:[6-8]} | "
    "D[3-5,9-11] | 13+8=21 | 10/6/12",
    "2F | {F:8} | P[6-9]; D[12-19] | {F:6, P:[0-2], D:[0-2]} {F:6, P:[3-5], D:[6-8]} | "
    "D[3-5,9-11] | 13+8=21 | 12/6/12",
    "2F 3P 3D | {F:6} | P[9]; D[15-19] | {F:6, P:[0-2], D:[0-2]} {F:6, P:[3-5], D:[6-8]} "
    "{F:2, P:[6-8], D:[12-14]} | D[3-5,9-11] | 7+9=16 | 14/9/15",
    "2F 3D | {F:4} | P[9]; D[18-19] | {F:6, P:[0-2], D:[0-2]} {F:6, P:[3-5], D:[6-8]} {F:4, "
    "P:[6-8], D:[12-14]} | D[3-5,9-11,15-17] | 4+12=16 | 16/9/18",
    "2F | {F:2} | P[9]; D[18-19] | {F:6, P:[0-2], D:[0-2]} {F:6, P:[3-5], D:[6-8]} {F:6, "
    "P:[6-8], D:[12-14]} | D[3-5,9-11,15-17] | 4+12=16 | 18/9/18",
    "2F 1P 2D | gone | - | {F:6, P:[0-2], D:[0-2]} {F:6, P:[3-5], D:[6-8]} {F:8, P:[6-8], "
    "D:[12-14]} | P[9]; D[3-5,9-11,15-19] | 0+15=15 | 20/10/20",
};

/* The example set with gangs of before: F 5/2/2, P 4/1/1, D 3/1/1 */
static const char *const worked_il[] = {
    "2F 1P 1D | {F:3} | P[1-3]; D[1-2] | {F:2, P:[0], D:[0]} | - | 6+1=7 | 2/1/1",
    "1P | {F:3} | P[2-3]; D[1-2] | {F:2, P:[0], D:[0]} | P[1] | 5+2=7 | 2/2/1",
    "2F 1P 1D | {F:1} | P[3]; D[2] | {F:2, P:[0], D:[0]} {F:2, P:[2], D:[1]} | P[1] | 3+3=6 | "
    "4/3/2",
    "1P | {F:1} | D[2] | {F:2, P:[0], D:[0]} {F:2, P:[2], D:[1]} | P[1,3] | 2+4=6 | 4/4/2",
    "1F 1D | gone | - | {F:2, P:[0], D:[0]} {F:3, P:[2], D:[1]} | P[1,3]; D[2] | 0+5=5 | "
    "5/4/3",
};

/* Clean divisibility: F 10/1/1, P 100/3/3, D 80/3/4. The proposal gives the numbers of all forty
 * sub-steps and a rule for the rest. */
static const char *const worked_a_numbers[] = {
    "175+1=176 | 1/3/3",     "168+8=176 | 1/6/7",    "164+12=176 | 1/9/8",
    "163+13=176 | 1/10/8",   "157+14=171 | 2/13/11", "150+21=171 | 2/16/15",
    "146+25=171 | 2/19/16",  "145+26=171 | 2/20/16", "139+27=166 | 3/23/19",
    "132+34=166 | 3/26/23",  "128+38=166 | 3/29/24", "127+39=166 | 3/30/24",
    "121+40=161 | 4/33/27",  "114+47=161 | 4/36/31", "110+51=161 | 4/39/32",
    "109+52=161 | 4/40/32",  "103+53=156 | 5/43/35", "96+60=156 | 5/46/39",
    "92+64=156 | 5/49/40",   "91+65=156 | 5/50/40",  "85+66=151 | 6/53/43",
    "78+73=151 | 6/56/47",   "74+77=151 | 6/59/48",  "73+78=151 | 6/60/48",
    "67+79=146 | 7/63/51",   "60+86=146 | 7/66/55",  "56+90=146 | 7/69/56",
    "55+91=146 | 7/70/56",   "49+92=141 | 8/73/59",  "42+99=141 | 8/76/63",
    "38+103=141 | 8/79/64",  "37+104=141 | 8/80/64", "31+105=136 | 9/83/67",
    "24+112=136 | 9/86/71",  "20+116=136 | 9/89/72", "19+117=136 | 9/90/72",
    "12+118=130 | 10/93/75", "5+125=130 | 10/96/79", "1+129=130 | 10/99/80",
    "0+130=130 | 10/100/80",
};

/* "P[3-9]", "P[9]" or nothing. */
static inline void worked_range(struct strbuf *out, const char *before, int from, int to)
{
    if (from > to)
        return;
    strbuf_printf(out, "%s%d", before, from);
    if (from < to)
        strbuf_printf(out, "-%d", to);
}

/* Step N (from 1), sub-step N.k. Before step N, 10 (N - 1) of P and 8 (N - 1) of D are rolled. */
static inline void worked_a_row(int n, int k, struct strbuf *out)
{
    static const char *const takes[] = {"1F 3P 3D", "3P 4D", "3P 1D", "1P"};
    static const int p_rolled[] = {3, 6, 9, 10}, d_rolled[] = {3, 7, 8, 8};
    int p = 10 * (n - 1) + p_rolled[k - 1], d = 8 * (n - 1) + d_rolled[k - 1];
    int with_tails = k > 1 ? n : n - 1;
    strbuf_printf(out, "%s | ", takes[k - 1]);
    if (n < 10)
        strbuf_printf(out, "{F:%d} | ", 10 - n);
    else
        strbuf_add_cstr(out, "gone | ");
    worked_range(out, "P[", p, 99);
    worked_range(out, "]; D[", d, 79);
    strbuf_add_cstr(out, p < 100 ? "] |" : "- |");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, " {F:1, P:[%d-%d], D:[%d-%d]}", 10 * i, 10 * i + 2, 8 * i, 8 * i + 2);
    strbuf_add_cstr(out, " | ");
    for (int i = 0; i < with_tails; i++)
        worked_range(out, i ? "," : "P[", 10 * i + 3, MIN(10 * i + 9, p - 1));
    for (int i = 0; i < with_tails; i++)
        worked_range(out, i ? "," : "]; D[", 8 * i + 3, MIN(8 * i + 7, d - 1));
    strbuf_printf(out, "%s | %s", with_tails ? "]" : "-", worked_a_numbers[4 * (n - 1) + k - 1]);
}

/* A single component, in the set of case A: only F changes, in ten steps of one sub-step. What is
 * left of the old anchor holds the others and survives. */
static inline void worked_e_row(int n, struct strbuf *out)
{
    strbuf_add_cstr(out, "1F | {");
    if (n < 10)
        strbuf_printf(out, "F:%d, ", 10 - n);
    strbuf_add_cstr(out, "P:[0-2], D:[0-2]} | P[3-99]; D[3-79] |");
    for (int i = 0; i < n; i++)
        strbuf_add_cstr(out, " {F:1}");
    strbuf_printf(out, " | - | 175+%d=%d | %d/0/0", n, 175 + n, n);
}

#endif
