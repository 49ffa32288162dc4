--- @include "micros.lua"

-- store writes the counter. It is kept for the retention after its last use, and until the
-- clock of this node has passed the last token for as long: tokens follow the latest of the
-- clocks. After that tokens rise only by the clocks of the nodes. Counters are not kept
-- forever, because clients choose the keys.
local function store(key, first, last, holder, released)
  local lead = math.ceil(math.max(last - micros(), 0) / 1000)
  redis.call('SET', key, string.format('%.0f %.0f %s %s', first, last, holder, released),
    'PX', string.format('%.0f', RETENTION + lead))
end
