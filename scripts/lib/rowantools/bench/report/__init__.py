# SPDX-License-Identifier: GPL-2.0-only
"""Results as text on a terminal, as Markdown and as one self-contained HTML page."""
