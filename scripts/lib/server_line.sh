# SPDX-License-Identifier: GPL-2.0-only
# `--mysql VERSION` of every script, before an argument `--`: the line of servers, for all that the
# script starts. Sourced by the scripts; takes the option out of their arguments.

rowan_count=$#
rowan_ours=yes
while [ "$rowan_count" -gt 0 ]; do
  rowan_count=$((rowan_count - 1))
  case "$rowan_ours$1" in
    yes--mysql)
      if [ "$rowan_count" = 0 ]; then
        echo "--mysql wants a version, such as 8.4" >&2
        exit 2
      fi
      ROWAN_MYSQL_LINE="$2"
      export ROWAN_MYSQL_LINE
      rowan_count=$((rowan_count - 1))
      shift
      ;;
    yes--mysql=*)
      ROWAN_MYSQL_LINE="${1#--mysql=}"
      export ROWAN_MYSQL_LINE
      ;;
    *)
      if [ "$1" = -- ]; then rowan_ours=no; fi
      set -- "$@" "$1"
      ;;
  esac
  shift
done
