"""Manifests of sharded archives: formats/shards.md."""
import json
import re

import blake3

from bits import Items, refuse_if
from tally_origin import CRITERIA, SPLITS, Settings, check_ascending, check_slices, read_settings, write_settings

TAIL = 82
KEY = re.compile(r"[0-9a-f]{16}")
SUM = re.compile(r"[0-9a-f]{32}")
HASH = re.compile(r"[0-9a-f]{64}")
NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
MEMBERS = {
    "manifest": {"format", "version", "about", "library", "check"},
    "young layer": {"file", "records", "bytes", "blake3", "footer"},
    "list": {"first_key", "last_key", "file", "shards", "records", "shard_bytes", "bytes", "blake3"},
    "shard": {"first_key", "last_key", "file", "records", "bytes", "blake3", "footer"},
    "library": {"settings", "mixed", "pruned", "sources", "delta", "slices", "digests", "kept_games", "games"},
    "file of the games": {"file", "bytes", "blake3", "footer"},
    "set of games": {"games", "sum"},
    "delta": {"base", "both"},
    "plan": {"plan", "slices", "present"},
    "settings": {"year", "month", "speed", "rating", "max_ply", "players", "color", "standard_only", "same_game",
                 "count_repeats", "keep_games", "unique_games", "truncate_games", "deny_warnings", "filter"},
    "source": {"name", "games", "duplicates", "left_out"},
}


def check_members(what, value):
    refuse_if(not isinstance(value, dict) or set(value) != MEMBERS[what], f"members of the {what}")


def check_file(listed, suffix=".epa"):
    refuse_if(not HASH.fullmatch(listed["blake3"]), "form of a hash")
    refuse_if(not re.fullmatch(NAME + re.escape(suffix), listed["file"]), "name of a file")


def check_entries(what, entries, suffix, start, end):
    """Objects of shards or lists, whose ranges follow one another from one key to another."""
    refuse_if(not 1 <= len(entries) <= 65_536, f"number of objects: {what}")
    for entry in entries:
        check_members(what, entry)
        refuse_if(not all(KEY.fullmatch(entry[key]) for key in ("first_key", "last_key")), "form of a key")
        check_file(entry, suffix)
        first, last = int(entry["first_key"], 16), int(entry["last_key"], 16)
        refuse_if(first != start or last < first, "ranges of keys")
        start = last + 1
    refuse_if(start != end + 1, "ranges of keys")


def read_list(entry, data):
    """The shards of a list, whose object in the manifest is `entry`."""
    refuse_if(len(data) != entry["bytes"] or blake3.blake3(data).hexdigest() != entry["blake3"], "hash of a list")
    listed = json.loads(data)
    check_entries("shard", listed, ".epa", int(entry["first_key"], 16), int(entry["last_key"], 16))
    sums = [len(listed), sum(shard["records"] for shard in listed), sum(shard["bytes"] for shard in listed)]
    refuse_if(sums != [entry["shards"], entry["records"], entry["shard_bytes"]], "numbers of a list")
    return listed


def check_settings(settings):
    """The values that the bytes of settings can have."""
    flags = ["standard_only", "count_repeats", "unique_games", "truncate_games", "deny_warnings"]
    by = [settings[name] for name in SPLITS]
    refuse_if(not all(isinstance(value, bool) for value in by + [settings[flag] for flag in flags]), "true or false")
    items = Items(write_settings(Settings(
        sum(is_split << bit for bit, is_split in enumerate(by)), 0,
        [None, "white", "black"].index(settings["color"]), CRITERIA.index(settings["same_game"]),
        settings["keep_games"] or 0, 0xFFFFFFFF if settings["max_ply"] is None else settings["max_ply"],
        settings["players"], settings["filter"] or "")))
    read_settings(items)
    refuse_if(settings["keep_games"] == 0 or settings["filter"] == "" or settings["max_ply"] == 0xFFFFFFFF,
              "a value that stands for null")


def tail(body):
    return b',\n  "check": "%s"\n}\n' % blake3.blake3(body).hexdigest().encode()


def read_manifest(data):
    refuse_if(data[-TAIL:] != tail(data[:-TAIL]), "the hash at the end differs")
    manifest = json.loads(data)
    young_layers = manifest.get("young_layers", [])
    optional = ("young_layers", "shards", "lists")
    check_members("manifest", {name: value for name, value in manifest.items() if name not in optional})
    refuse_if(manifest["format"] != "epdb-ranges", "format")
    refuse_if(manifest["version"] != 1, "version")
    refuse_if(not isinstance(manifest["about"], dict), "facts that are no object")
    refuse_if(("shards" in manifest) == ("lists" in manifest), "either shards or lists")
    if "lists" in manifest:
        lists = manifest["lists"]
        check_entries("list", lists, ".json", 0, (1 << 64) - 1)
        refuse_if(sum(entry["shards"] for entry in lists) > 262_144, "number of shards")
        refuse_if(any(entry["bytes"] > 64 << 20 for entry in lists), "size of a list")
    else:
        check_entries("shard", manifest["shards"], ".epa", 0, (1 << 64) - 1)
    refuse_if("young_layers" in manifest and not 1 <= len(young_layers) <= 2, "number of young layers")
    for layer in young_layers:
        check_members("young layer", layer)
        check_file(layer)
    library = manifest["library"]
    if library is not None:
        check_members("library", library)
        check_members("file of the games", library["games"])
        check_file(library["games"])
        check_members("settings", library["settings"])
        check_settings(library["settings"])
        for source in library["sources"]:
            check_members("source", source)
        sets = [library["digests"]] if library["digests"] is not None else []
        if library["delta"] is not None:
            check_members("delta", library["delta"])
            sets += library["delta"].values()
        for games in sets:
            check_members("set of games", games)
            refuse_if(not SUM.fullmatch(games["sum"]), "form of a sum")
        for plan in library["slices"]:
            check_members("plan", plan)
            refuse_if(not HASH.fullmatch(plan["plan"]), "form of the id of a plan")
            check_slices(plan["slices"], plan["present"])
        check_ascending([plan["plan"] for plan in library["slices"]])
    return manifest


def write_manifest(manifest):
    text = json.dumps({**manifest, "check": ""}, indent=2, ensure_ascii=False)
    body = text[:text.rindex(',\n  "check"')].encode()
    return body + tail(body)
