-- The beginning of share.lua and unshare.lua, before lib.lua. As in acquire.lua.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window, the prefix of inboxes; then
-- some entries for each lock.

local RETENTION, QUEUE_TTL = 900000, 60000

local n = #KEYS / 3
local values = {} -- nothing was read in advance
local answers = {}
