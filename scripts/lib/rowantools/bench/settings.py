# SPDX-License-Identifier: GPL-2.0-only
"""What each side of a comparison promises and is given: recorded beside the figures, in the same
words for all servers, so that unequal sides can be seen."""
from .database import connect

# What must be the same for all sides; where it is not, reports show it in red.
PROMISES = ("commits", "torn pages", "binlog")
_UNKNOWN = "unknown"


def describe(target):
    """{version, settings, variables} of a target that answers."""
    with connect(target, database=None if not target.own else "") as connection:
        if target.protocol == "postgres":
            return _postgres(connection)
        return _mysql(connection, target.engine.lower())


def _mysql(connection, engine):
    variables = {str(name).lower(): _text(value) for name, value in
                 connection.execute("SHOW GLOBAL VARIABLES")}
    read = {"rowan": _rowan, "innodb": _innodb, "rocksdb": _rocksdb}.get(engine, _other_engine)
    settings = read(variables)
    settings["binlog"] = _binlog(variables)
    settings["isolation"] = variables.get("transaction_isolation",
                                          variables.get("tx_isolation", _UNKNOWN))
    settings["charset"] = variables.get("character_set_server", _UNKNOWN)
    if not variables["version"].lower().count("mariadb"):
        settings["mysqlx_cache_cleaner"] = _plugin_state(connection)
    kept = ("binlog_format", "max_connections", "performance_schema", "sync_binlog", "log_bin",
            "transaction_isolation", "thread_handling")
    return {"version": variables["version"], "settings": settings,
            "variables": {name: value for name, value in sorted(variables.items())
                          if name.startswith(f"{engine}_") or name in kept}}


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_FLUSH = {"1": "synced at each commit", "2": "written at each commit, synced once a second",
          "0": "written and synced once a second"}


def _rowan(variables):
    return {"commits": _FLUSH.get(variables.get("rowan_flush_log_at_trx_commit"), _UNKNOWN),
            "torn pages": _protected(variables.get("rowan_doublewrite")),
            "memory": _bytes(variables.get("rowan_buffer_pool_size")),
            "redo": _bytes(variables.get("rowan_redo_log_capacity")),
            "page size": _bytes(variables.get("rowan_page_size")),
            "sync method": variables.get("rowan_log_sync_method", _UNKNOWN)}


def _innodb(variables):
    capacity = variables.get("innodb_redo_log_capacity", variables.get("innodb_log_file_size"))
    sync = "fdatasync" if variables.get("innodb_use_fdatasync") == "ON" else "fsync"
    return {"commits": _FLUSH.get(variables.get("innodb_flush_log_at_trx_commit"), _UNKNOWN),
            "torn pages": _protected(variables.get("innodb_doublewrite")),
            "memory": _bytes(variables.get("innodb_buffer_pool_size")), "redo": _bytes(capacity),
            "page size": _bytes(variables.get("innodb_page_size")),
            "sync method": f"{sync}, {variables.get('innodb_flush_method', _UNKNOWN)}"}


def _rocksdb(variables):
    return {"commits": _FLUSH.get(variables.get("rocksdb_flush_log_at_trx_commit"), _UNKNOWN),
            "torn pages": "protected",  # it never writes a page in place
            "memory": _bytes(_sum(variables, "rocksdb_block_cache_size",
                                  "rocksdb_db_write_buffer_size")),
            "redo": _bytes(variables.get("rocksdb_max_total_wal_size")),
            "page size": _bytes(variables.get("rocksdb_block_size")),
            "sync method": "fsync" if variables.get("rocksdb_use_fsync") == "ON" else "fdatasync"}


def _sum(variables, *names):
    """Of sizes; nothing where one is missing."""
    values = [variables.get(name, "") for name in names]
    return str(sum(map(int, values))) if all(value.isdigit() for value in values) else ""


def _other_engine(variables):
    return {name: _UNKNOWN for name in ("commits", "torn pages", "memory", "redo", "page size",
                                        "sync method")}


def _binlog(variables):
    if variables.get("log_bin") not in ("ON", "1"):
        return "off"
    return {"1": "on, synced at each commit", "0": "on, never synced"}.get(
        variables.get("sync_binlog"), f"on, synced every {variables.get('sync_binlog')} commits")


def _plugin_state(connection):
    state = connection.value("SELECT plugin_status FROM information_schema.plugins "
                             "WHERE plugin_name = 'mysqlx_cache_cleaner'")
    return {"ACTIVE": "on: every prepared change is written out, for each engine"}.get(state, "off")


def _postgres(connection):
    variables = {name: value for name, value, *_ in connection.execute("SHOW ALL")}
    synced = variables["fsync"] == "on" and variables["synchronous_commit"] != "off"
    settings = {"commits": _FLUSH["1"] if synced else "not synced at each commit",
                "torn pages": _protected(variables["full_page_writes"]),
                "memory": variables["shared_buffers"], "redo": variables["max_wal_size"],
                "page size": _bytes(variables["block_size"]),
                "sync method": variables["wal_sync_method"], "binlog": "off",
                "isolation": variables["default_transaction_isolation"].replace(" ", "-").upper(),
                "charset": variables["server_encoding"]}
    kept = ("autovacuum", "checkpoint_timeout", "fsync", "full_page_writes", "max_wal_size",
            "shared_buffers", "synchronous_commit", "wal_level", "wal_sync_method",
            "max_connections", "jit", "data_checksums")
    return {"version": f"PostgreSQL {variables['server_version']}", "settings": settings,
            "variables": {name: variables[name] for name in kept if name in variables}}


def _protected(value):
    if value is None:
        return _UNKNOWN
    return "protected" if value.lower() not in ("off", "0", "false") else "not protected"


def _bytes(text):
    if not text or not text.isdigit():
        return _UNKNOWN
    count = int(text)
    if not count:
        return "automatic"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} bytes"


def unequal(targets):
    """[(target, setting, value, value of the base)] of promises that differ from the base's."""
    if not targets:
        return []
    base = targets[0]["settings"]
    return [(target["name"], name, target["settings"].get(name, _UNKNOWN),
             base.get(name, _UNKNOWN))
            for target in targets[1:] for name in PROMISES
            if target["settings"].get(name, _UNKNOWN) != base.get(name, _UNKNOWN)]
