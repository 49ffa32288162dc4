-- The beginning of share.lua, unshare.lua, acquire_all.lua and force_release.lua: what
-- lib.lua needs.
--
-- KEYS: n locks, their n fences, their n queues.

local RETENTION, QUEUE_TTL = 900000, 60000 -- as in acquire.lua

local n = #KEYS / 3
local values = {} -- nothing was read in advance
local answers = {}
