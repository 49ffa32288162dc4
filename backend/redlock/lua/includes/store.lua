-- store writes the counter. It is kept for the retention after its last use. After that
-- tokens rise only by the clocks of the nodes. Counters are not kept forever, because
-- clients choose the keys.
local function store(key, first, last, holder, released)
  redis.call('SET', key, string.format('%.0f %.0f %s %s', first, last, holder, released), 'PX', RETENTION)
end
