r"""What Redis itself does for an index: scripts, each of which is one step that nothing comes between.

    lookalike:{seen}:index   a hash: `about`, what the index is (sealed JSON); `made`, which tells it from another of
                             this name; `numbers`, how many were given to items; `items`, how many there are; `most`,
                             how many there were at the most; `bytes` of all records
    lookalike:{seen}:r7      a hash of 256 records: that of number 7 * 256 + i has the field i
    lookalike:{seen}:b3:17   a hash of buckets of band 3: field, four bytes of the key; value, the numbers of its items,
                             such as `12,407`; nothing where they are in a string of their own
    lookalike:{seen}:l3:XXXX a long bucket, of the key whose four bytes are XXXX: the numbers, five bytes each

A band has many small hashes, since Redis keeps a small one as a plain row of bytes, in a tenth of the space: up to 512
fields (128 in some versions) with values of up to 64 bytes. How many hashes a band has follows from `most`, and as
it grows they are split one after another (linear hashing, Litwin 1980): with n hashes, p the largest power of two up to
n, a key is in hash k mod 2p, or, where that is not there yet, k mod p. Hash n is made of those of hash n - p that
belong there. So a hash has 11 to 32 fields on average at any size, and to look into a bucket is one HGET:

    items            100,000     1,000,000     10,000,000
    hashes a band      6,251        62,501        625,001

Bands are split in turns, so that an addition splits one hash or none.

The four bytes are all that is kept of a key: of 10 million items one in 430 shares them in a band with a key that it
does not have. Candidates are compared anyway. A number that is listed has a record, since both go in one step.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

__all__ = [
    "ADD",
    "CHECK",
    "CREATE",
    "DESCRIBE",
    "FIND",
    "GONE_AWAY",
    "LOAD",
    "OUTRUN",
    "RECORDS",
    "REMOVE",
    "TAKEN_ID",
    "Script",
]

# Records of a hash, which share one key: few enough for all of them to be fetched at once.
RECORDS = 256
# Fields of a hash on average: those that are about to be split have twice as many. Redis goes through all of them, so
# more take less space and longer. 6,000 items of 16 bands, bytes in all, time of an addition and a query in Redis 7.0:
#     12 fields 2,059 bytes 141 µs 65 µs     16 fields 2,021 bytes 160 µs 73 µs
#     24 fields 1,993 bytes 203 µs 98 µs     48 fields 1,958 bytes 358 µs 165 µs
LOAD = 16

# What a script answers with where it does nothing.
TAKEN_ID, OUTRUN, GONE_AWAY = 0, -1, -2


@dataclass(frozen=True, slots=True)
class Script:
    """A script and its name in Redis."""

    text: str

    @property
    def sha(self) -> str:
        """What it is called by when Redis has seen it."""
        return hashlib.sha1(self.text.encode()).hexdigest()


# Whether somebody has made an index of this name already; else it is made.
CREATE = Script("""
local index = KEYS[1] .. 'index'
local made = redis.call('HGET', index, 'made')
if made then
  -- The answer to the same call may have been lost.
  return made == ARGV[1] and 1 or 0
end
redis.call('HSET', index, 'made', ARGV[1], 'about', ARGV[2], 'numbers', 0, 'items', 0, 'most', 0, 'bytes', 0)
return 1
""")

# From one description to the next, if nobody else has changed it; the one that holds.
DESCRIBE = Script("""
local index = KEYS[1] .. 'index'
local known = redis.call('HMGET', index, 'made', 'about')
if known[1] ~= ARGV[1] then return -2 end
if known[2] ~= ARGV[2] then return known[2] end
redis.call('HSET', index, 'about', ARGV[3])
return ARGV[3]
""")

_COMMON = (
    """
local prefix, bands = KEYS[1], tonumber(ARGV[2])
local known = redis.call('HMGET', prefix .. 'index', 'made', 'numbers', 'items', 'most')
if known[1] ~= ARGV[1] then return -2 end
local numbers, items, most = tonumber(known[2]), tonumber(known[3]), tonumber(known[4])
local LOAD, RECORDS, LONG = """
    + f"{LOAD}, {RECORDS}, 60"
    + r"""

local function hashes(band, count)
  return 1 + math.floor((count + math.floor(band * LOAD / bands)) / LOAD)
end

local function number_of(field)
  local a, b, c, d = string.byte(field, 1, 4)
  return a + 256 * (b + 256 * (c + 256 * d))
end

-- The largest power of two that is not larger.
local function power(n)
  local p = 1
  while 2 * p <= n do p = 2 * p end
  return p
end

local powers = {}
local function bucket(band, field)
  local n = hashes(band, most)
  local p = powers[n]
  if not p then
    p = power(n)
    powers[n] = p
  end
  local at = number_of(field) % (2 * p)
  if at >= n then at = at - p end
  return prefix .. 'b' .. band .. ':' .. at
end

local function long(band, field)
  return prefix .. 'l' .. band .. ':' .. field
end

local function field_of(fields, i)
  return string.sub(fields, 4 * i + 1, 4 * i + 4)
end

local function packed(number)
  local high = math.floor(number / 4294967296)
  local low = number - high * 4294967296
  local function byte(unit) return math.floor(low / unit) % 256 end
  return string.char(high, byte(16777216), byte(65536), byte(256), byte(1))
end

local function unpacked(data, at)
  local a, b, c, d, e = string.byte(data, at, at + 4)
  return (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
end

-- Where a number is in a long bucket, whose numbers rise as they were given.
local function position(data, number)
  local low, high = 0, #data / 5 - 1
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local there = unpacked(data, 5 * middle + 1)
    if there == number then return 5 * middle + 1 end
    if there < number then low = middle + 1 else high = middle - 1 end
  end
end

local function plain(number)
  return string.format('%.0f', number)
end

local function record_of(number)
  return redis.call('HGET', prefix .. 'r' .. plain(math.floor(number / RECORDS)), plain(number % RECORDS))
end
"""
)

# The candidates of a query: those in the most bands, in the order in which they came, and how many were left out.
FIND = Script(
    _COMMON
    + r"""
local fields, first, entries, examine = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local shared, found, left_out = {}, {}, 0

local function take(number)
  local before = shared[number]
  if before then
    shared[number] = before + 1
  else
    shared[number] = 1
    found[#found + 1] = number
  end
end

for i = 0, #fields / 4 - 1 do
  local band, field = first + i, field_of(fields, i)
  local value = redis.call('HGET', bucket(band, field), field)
  if value == '' then
    -- The latest of a long one: each may have its share of what is left, so that bands tell the likelier ones apart.
    local size = redis.call('STRLEN', long(band, field)) / 5
    local taken = math.min(size, math.floor(entries / (#fields / 4 - i)))
    left_out = left_out + size - taken
    entries = entries - taken
    if taken > 0 then
      local data = redis.call('GETRANGE', long(band, field), (size - taken) * 5, -1)
      for at = 1, #data, 5 do take(unpacked(data, at)) end
    end
  elseif value then
    for number in string.gmatch(value, '%d+') do take(tonumber(number)) end
  end
end

if #found > examine then
  -- How many bands the last one that is taken shares.
  local having, limit, above = {}, bands, 0
  for _, number in ipairs(found) do having[shared[number]] = (having[shared[number]] or 0) + 1 end
  while limit > 0 and above + (having[limit] or 0) <= examine do
    above = above + (having[limit] or 0)
    limit = limit - 1
  end
  local chosen, room = {}, examine - above
  for at = #found, 1, -1 do
    local count = shared[found[at]]
    if count > limit then
      chosen[#chosen + 1] = found[at]
    elseif count == limit and room > 0 then
      room = room - 1
      chosen[#chosen + 1] = found[at]
    end
  end
  left_out = left_out + #found - #chosen
  found = chosen
end

table.sort(found)
local records = {}
for i, number in ipairs(found) do records[i] = record_of(number) end
return {numbers, left_out, found, records}
"""
)

_CHANGING = r"""
local function leave(band, field, number)
  local key = bucket(band, field)
  local value = redis.call('HGET', key, field)
  if value == '' then
    local name = long(band, field)
    local data = redis.call('GET', name)
    local at = position(data, number)
    if at then data = string.sub(data, 1, at - 1) .. string.sub(data, at + 5) end
    if data == '' then
      redis.call('DEL', name)
      redis.call('HDEL', key, field)
    else
      redis.call('SET', name, data)
    end
  elseif value then
    local rest = {}
    for each in string.gmatch(value, '%d+') do
      if tonumber(each) ~= number then rest[#rest + 1] = each end
    end
    if #rest == 0 then
      redis.call('HDEL', key, field)
    else
      redis.call('HSET', key, field, table.concat(rest, ','))
    end
  end
end

local function remove(number, fields, first)
  local size = #record_of(number)
  redis.call('HDEL', prefix .. 'r' .. plain(math.floor(number / RECORDS)), plain(number % RECORDS))
  for i = 0, #fields / 4 - 1 do leave(first + i, field_of(fields, i), number) end
  items = redis.call('HINCRBY', prefix .. 'index', 'items', -1)
  redis.call('HINCRBY', prefix .. 'index', 'bytes', -size)
end
"""

# 1 if the item was there, and is not any more. Where the answer to the first call was lost, it was there then.
REMOVE = Script(
    _COMMON
    + _CHANGING
    + """
local number = tonumber(ARGV[3])
if not record_of(number) then return tonumber(ARGV[6]) end
remove(number, ARGV[4], tonumber(ARGV[5]))
return 1
"""
)

# 1 if the item is stored. All looks come before all writes: whatever refuses it leaves nothing half done.
ADD = Script(
    _COMMON
    + _CHANGING
    + r"""
local fields, first, record, since = ARGV[3], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local old, old_fields, old_first = tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])
local last = #fields / 4 - 1

local function same_id(other)
  local a, b = string.byte(record, 3, 4)
  local size = a + 256 * b
  if size == 65535 then size = 8 end
  return string.sub(other, 3, 4) == string.sub(record, 3, 4)
    and string.sub(other, 33, 32 + size) == string.sub(record, 33, 32 + size)
end

local function each_of_id()
  local field = field_of(fields, last)
  local value, found = redis.call('HGET', bucket(bands - 1, field), field), {}
  if value == '' then
    local data = redis.call('GET', long(bands - 1, field))
    for at = 1, #data, 5 do found[#found + 1] = unpacked(data, at) end
  elseif value then
    for number in string.gmatch(value, '%d+') do found[#found + 1] = tonumber(number) end
  end
  return found
end

local taken = nil
for _, number in ipairs(each_of_id()) do
  local other = record_of(number)
  if other and same_id(other) then
    -- The very same record, its random part too: it was stored, and the answer was lost.
    if other == record then return 1 end
    taken = number
  end
end
if taken ~= old then return old and -1 or 0 end

local function latest(band, field)
  local value = redis.call('HGET', bucket(band, field), field)
  if not value then return -1 end
  if value == '' then return unpacked(redis.call('GETRANGE', long(band, field), -5, -1), 1) end
  return tonumber(string.match(value, '%d+$'))
end

if since then
  -- Where only the id has a bucket, whatever is new may be like it.
  if last == 0 and numbers > since then return -1 end
  for i = 0, last - 1 do
    if latest(first + i, field_of(fields, i)) >= since then return -1 end
  end
end

-- The first write is one that Redis refuses when it has no memory left.
redis.call('HSET', prefix .. 'index', 'numbers', plain(numbers + 1))
if old then remove(old, old_fields, old_first) end
local number = numbers
local name = plain(number)
redis.call('HSET', prefix .. 'r' .. plain(math.floor(number / RECORDS)), plain(number % RECORDS), record)
for i = 0, last do
  local band, field = first + i, field_of(fields, i)
  local key = bucket(band, field)
  if redis.call('HSETNX', key, field, name) == 0 then
    local value = redis.call('HGET', key, field)
    if value == '' then
      redis.call('APPEND', long(band, field), packed(number))
    elseif #value + 1 + #name <= LONG then
      redis.call('HSET', key, field, value .. ',' .. name)
    else
      local all = {}
      for each in string.gmatch(value, '%d+') do all[#all + 1] = packed(tonumber(each)) end
      all[#all + 1] = packed(number)
      redis.call('SET', long(band, field), table.concat(all))
      redis.call('HSET', key, field, '')
    end
  end
end
items = redis.call('HINCRBY', prefix .. 'index', 'items', 1)
redis.call('HINCRBY', prefix .. 'index', 'bytes', #record)

local function split(band, n)
  local p = power(n)
  local from, to = prefix .. 'b' .. band .. ':' .. (n - p), prefix .. 'b' .. band .. ':' .. n
  local all, moved, names = redis.call('HGETALL', from), {}, {}
  for i = 1, #all, 2 do
    if number_of(all[i]) % (2 * p) == n then
      moved[#moved + 1] = all[i]
      moved[#moved + 1] = all[i + 1]
      names[#names + 1] = all[i]
    end
  end
  -- A call takes some thousand words at the most.
  for i = 1, #moved, 1000 do
    redis.call('HSET', to, unpack(moved, i, math.min(i + 999, #moved)))
    redis.call('HDEL', from, unpack(names, (i + 1) / 2, math.min((i + 999) / 2, #names)))
  end
end

if items > most then
  redis.call('HSET', prefix .. 'index', 'most', items)
  for band = 0, bands - 1 do
    local n = hashes(band, most)
    if hashes(band, items) > n then split(band, n) end
  end
end
return 1
"""
)

# In how many of its buckets an item is.
CHECK = Script(
    _COMMON
    + r"""
local number, fields, first, listed = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]), 0
for i = 0, #fields / 4 - 1 do
  local band, field = first + i, field_of(fields, i)
  local value = redis.call('HGET', bucket(band, field), field)
  if value == '' then
    if position(redis.call('GET', long(band, field)) or '', number) then listed = listed + 1 end
  elseif value then
    for each in string.gmatch(value, '%d+') do
      if tonumber(each) == number then listed = listed + 1 end
    end
  end
end
return listed
"""
)
