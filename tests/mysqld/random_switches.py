# SPDX-License-Identifier: GPL-2.0-only
"""Optimizer switches, session variables and hints that make the server take other paths."""

SWITCHES = ("index_merge", "index_merge_union", "index_merge_sort_union",
            "index_merge_intersection", "index_condition_pushdown", "mrr", "mrr_cost_based",
            "block_nested_loop", "batched_key_access", "materialization", "semijoin", "loosescan",
            "firstmatch", "duplicateweedout", "subquery_materialization_cost_based",
            "use_index_extensions", "condition_fanout_filter", "derived_merge",
            "use_invisible_indexes", "skip_scan", "hash_join", "subquery_to_derived",
            "prefer_ordering_index", "derived_condition_pushdown", "hash_set_operations")
_VARIABLES = (("join_buffer_size", ("128", "4096", "DEFAULT")),
              ("sort_buffer_size", ("32768", "DEFAULT")),
              ("read_rnd_buffer_size", ("1", "DEFAULT")),
              ("max_seeks_for_key", ("1", "DEFAULT")),
              ("eq_range_index_dive_limit", ("1", "DEFAULT")),
              ("optimizer_prune_level", ("0", "1")),
              ("optimizer_search_depth", ("1", "62")),
              ("big_tables", ("ON", "OFF")),
              ("tmp_table_size", ("1024", "DEFAULT")),
              ("internal_tmp_mem_storage_engine", ("MEMORY", "TempTable")),
              ("max_length_for_sort_data", ("4096",)),
              ("range_optimizer_max_mem_size", ("1000", "DEFAULT")),
              ("range_alloc_block_size", ("4096",)),
              ("group_concat_max_len", ("1000000",)))
_TABLE_HINTS = ("BKA", "NO_BKA", "BNL", "NO_BNL", "MERGE", "NO_MERGE", "DERIVED_CONDITION_PUSHDOWN",
                "NO_DERIVED_CONDITION_PUSHDOWN")
_INDEX_HINTS = ("INDEX_MERGE", "NO_INDEX_MERGE", "MRR", "NO_MRR", "NO_ICP",
                "NO_RANGE_OPTIMIZATION", "SKIP_SCAN", "NO_SKIP_SCAN", "INDEX", "NO_INDEX",
                "JOIN_INDEX", "GROUP_INDEX", "ORDER_INDEX", "NO_ORDER_INDEX")
_BLOCK_HINTS = ("SEMIJOIN(MATERIALIZATION)", "SEMIJOIN(FIRSTMATCH)", "SEMIJOIN(LOOSESCAN)",
                "SEMIJOIN(DUPSWEEDOUT)", "NO_SEMIJOIN()", "SUBQUERY(MATERIALIZATION)",
                "SUBQUERY(INTOEXISTS)", "JOIN_FIXED_ORDER()")


def random_setting(random):
    """A SET statement."""
    if random.random() < 0.25:
        name, values = random.choice(_VARIABLES)
        return f"SET SESSION {name} = {random.choice(values)}"
    if random.random() < 0.15:
        return "SET SESSION optimizer_switch = DEFAULT"
    chosen = random.sample(SWITCHES, random.randint(1, 6))
    return "SET SESSION optimizer_switch = '" + ",".join(
        f"{name}={random.choice(('on', 'off'))}" for name in chosen) + "'"


def random_hint(random, references):
    """/*+ ... */ for the start of a query block, or nothing; references: (alias, Table)."""
    if random.random() < 0.6:
        return ""
    hints = []
    for _ in range(random.randint(1, 3)):
        alias, table = random.choice(references)
        choice = random.random()
        if choice < 0.25:
            hints.append(f"{random.choice(_TABLE_HINTS)}({alias})")
        elif choice < 0.75:
            keys = table.key_names()
            some = random.sample(keys, random.randint(0, min(2, len(keys))))
            hints.append(f"{random.choice(_INDEX_HINTS)}({alias} {', '.join(some)})".replace(
                " )", ")"))
        elif choice < 0.85 and len(references) > 1:
            order = ", ".join(name for name, _ in random.sample(references, len(references)))
            hints.append(f"{random.choice(('JOIN_ORDER', 'JOIN_PREFIX'))}({order})")
        else:
            hints.append(random.choice(_BLOCK_HINTS))
    return f"/*+ {' '.join(hints)} */ "


def index_hint(random, table):
    """FORCE, USE or IGNORE INDEX behind a table reference, or nothing."""
    keys = table.key_names()
    if not keys or random.random() < 0.45:
        return ""
    some = ", ".join(random.sample(keys, random.choice((1, 1, 1, min(2, len(keys))))))
    verb = random.choice(("FORCE", "FORCE", "FORCE", "USE", "IGNORE"))
    purpose = random.choice(("", "", "", " FOR JOIN", " FOR ORDER BY", " FOR GROUP BY"))
    return f" {verb} INDEX{purpose} ({some})"
